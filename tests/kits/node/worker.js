'use strict';
// The worker program of the Node kit; ../cases.py says what it does.

const { obey, ready, OrderedFailure } = require('leaseproof');

const keys = new Set();
let asked = 0;

const say = (fields) => process.stdout.write(`${JSON.stringify(fields)}\n`);

function tools(job, tick) {
  return {
    key: `key of ${job}`,
    lost: () => asked++ > 0,
    once: async (key, effect) => {
      await effect(!keys.has(key));
      keys.add(key);
    },
    connection: async () => {
      say({ job, connection: 'taken' });
      return async () => say({ job, connection: 'back' });
    },
    tick,
  };
}

async function run(job, attempt, given) {
  try {
    await obey(job, attempt, given);
    say({ job, end: 'returned' });
  } catch (error) {
    if (error instanceof OrderedFailure) {
      say({ job, end: 'failed', kind: error.kind, text: error.message, retry_in: error.retryIn });
    } else {
      say({ job, end: 'error', text: error.message });
    }
  }
}

async function line() {
  const line = await ready();
  line.renewed(['job', 'задача'], ['other']);
  line.outcome('job', 2, true);
  line.outcome('job', undefined, false);
  line.reclaimed(['2', '3']);
  for await (const _ of process.stdin);
  line.close();
}

async function main(what, ...jobs) {
  if (what === 'line') return line();
  if (what === 'bare') return run(jobs[0]);
  const tick = what === 'tick' ? '2026-10-03T12:00:00+00:00' : undefined;
  const running = [];
  for (const [index, job] of jobs.entries()) {
    running.push(run(job, index + 1, tools(job, tick)));
    if (what !== 'together') await running.at(-1);
  }
  return Promise.all(running);
}

main(...process.argv.slice(2));
