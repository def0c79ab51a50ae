'use strict';
// graphile-worker behind the contract: `adapter.js control` or `adapter.js worker`; README.md has its settings.

const { EventEmitter } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const { makeWorkerUtils, run, runMigrations } = require('graphile-worker');
const pg = require('pg');
const kit = require('../../bench/kits/node/leaseproof.js');

const { LEASEPROOF_POSTGRES: connectionString, LEASEPROOF_FOLDER: FOLDER } = process.env;
const TUNED = process.env.LEASEPROOF_PROFILE === 'tuned';
const NEVER = 2 ** 31 - 1; // the longest that a timer of Node's waits, in milliseconds

const DESCRIBE = {
  subject: 'graphile-worker',
  version: require('graphile-worker/package.json').version,
  protocol: 1,
  ownership: 'age-only',
  beats: 'nobody',
  attempts: 'claim',
  retry_after: 20.1, // exp(attempts) seconds, of which the first three are meant here
  drain: { signal: 'SIGTERM', exit_codes: [-15] }, // done with it, it ends itself by the signal that it was sent
  options: ['max_attempts', 'priority', 'delay', 'queue', 'transaction', ...(TUNED ? ['grace'] : [])],
  columns: ['attempt', 'max_attempts', 'kind', 'payload', 'due', 'last_error'],
  hold: 'SELECT id FROM graphile_worker._private_jobs WHERE id = %s FOR UPDATE',
  // A lock lasts for 4 hours, and is looked at after 8 to 10 minutes. Who knows that a worker has died need not wait.
  ...(TUNED
    ? { reclaim: 'called', tells: ['reclaimed'], slack: 0 }
    : { reclaim: 'automatic', lease: 4 * 3600, reclaim_every: 600, slack: 1 }),
};

const ADD = `
  SELECT id::text FROM graphile_worker.add_job($1, $2::json, run_at := now() + $3 * interval '1 second',
    max_attempts := $4, priority := $5)`;

const ROWS = `
  SELECT j.id::text, j.attempts::text AS attempt, j.max_attempts::text, t.identifier AS kind, j.payload::text,
    left((j.run_at <= now())::text, 1) AS due, j.last_error,
    CASE WHEN j.locked_at IS NOT NULL THEN 'running' WHEN j.attempts >= j.max_attempts THEN 'failed' ELSE 'queued' END
      AS state
  FROM graphile_worker._private_jobs AS j JOIN graphile_worker._private_tasks AS t ON t.id = j.task_id
  WHERE j.id = ANY($1::bigint[])`;

/** Note which process runs a pool, before it takes a job: it is left to users to see that one is gone. */
function register(pool) {
  fs.writeFileSync(path.join(FOLDER, pool.id), String(process.pid));
}

function isGone(pool) {
  try {
    process.kill(Number(fs.readFileSync(path.join(FOLDER, pool), 'utf8')), 0);
    return false;
  } catch {
    return true;
  }
}

/** What its documentation tells who has seen a worker die. */
async function unlock(utils) {
  const gone = fs.readdirSync(FOLDER).filter((name) => name.startsWith('pool-') && isGone(name));
  const held =
    'SELECT id::text FROM graphile_worker._private_jobs WHERE locked_by = ANY($1) AND attempts < max_attempts';
  const { rows } = await utils.withPgClient((client) => client.query(held, [gone]));
  await utils.forceUnlockWorkers(gone);
  return rows.map(({ id }) => id);
}

async function control() {
  const utils = await makeWorkerUtils({ connectionString });
  const pool = new pg.Pool({ connectionString }).on('error', console.error); // the application's own
  let client = null; // one of the pool's, in a transaction
  await kit.control({
    describe: () => DESCRIBE,
    prepare: () => runMigrations({ connectionString }),
    async transaction({ do: what }) {
      client ??= await pool.connect();
      await client.query(what);
      if (what === 'begin') return;
      client.release();
      client = null;
    },
    execute: async ({ statement }) => void (await (client ?? pool).query(statement)),
    reclaim: async () => ({ ids: TUNED ? await unlock(utils) : null }),
    async enqueue({ jobs }) {
      const ids = [];
      for (const { job, queue = 'puppet', delay = 0, max_attempts = null, priority = 0 } of jobs) {
        const values = [queue, { job }, delay, max_attempts, -priority]; // the lowest goes first
        const { rows } = await (client ?? pool).query(ADD, values);
        ids.push(rows[0].id);
      }
      return { ids };
    },
    async inspect({ ids }) {
      const found = new Map((await pool.query(ROWS, [ids])).rows.map((row) => [row.id, row]));
      return { rows: ids.map((id) => found.get(id) ?? { id, state: 'absent' }) }; // a job that is done is deleted
    },
  });
}

async function worker({ slots, poll, queue, grace, reclaim_every: every }) {
  const task = async ({ job }, helpers) => {
    const body = kit.obey(job, helpers.job.attempts);
    await (TUNED ? Promise.race([helpers.abortPromise, body]) : body);
  };
  const tuned = {
    pollInterval: poll * 1000,
    gracefulShutdownAbortTimeout: grace === null ? NEVER : grace * 1000,
    events: new EventEmitter().on('pool:create', ({ workerPool }) => register(workerPool)),
  };
  const runner = await run({
    connectionString,
    concurrency: slots,
    noHandleSignals: false,
    pollInterval: 1000,
    taskList: { [queue ?? 'puppet']: task },
    ...(TUNED ? tuned : {}),
  });
  const line = await kit.ready();
  if (TUNED && every !== null) {
    const utils = await makeWorkerUtils({ connectionString });
    const sweep = async () => {
      const ids = await unlock(utils);
      if (ids.length) await line.reclaimed(ids);
    };
    setInterval(() => sweep().catch(console.error), every * 1000).unref();
  }
  await runner.promise;
}

const command = process.argv[2] === 'control' ? control() : worker(JSON.parse(process.env.LEASEPROOF_OPTIONS));
command.catch((error) => {
  console.error(error);
  process.exit(1);
});
