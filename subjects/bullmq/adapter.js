'use strict';
// BullMQ behind the contract: `adapter.js control` or `adapter.js worker`; README.md has its settings.

const { Queue, UnrecoverableError, Worker } = require('bullmq');
const IORedis = require('ioredis');
const kit = require('../../bench/kits/node/leaseproof.js');

const TUNED = process.env.LEASEPROOF_PROFILE === 'tuned';
const LEASE = TUNED ? Number(process.env.LEASEPROOF_LEASE) : 30;
const STALLED = TUNED ? LEASE / 2 : 30; // seconds between two looks for stalled jobs, of all workers together
const STATES = { active: 'running', completed: 'done', failed: 'failed', unknown: 'absent' }; // any other is queued

const DESCRIBE = {
  subject: 'bullmq',
  version: require('bullmq/package.json').version,
  protocol: 1,
  ownership: 'lease-and-heartbeat',
  beats: 'runtime',
  reclaim: 'automatic',
  attempts: 'failure',
  lease: LEASE,
  reclaim_every: STALLED,
  // A look marks the jobs that run, the next one takes those whose lock is gone; each may come as late as twice that,
  // since the one of another worker may fall into the time for which the last one counts.
  slack: 2 * STALLED,
  drain: { signal: 'SIGTERM', exit_codes: TUNED ? [0] : [-15] },
  tells: ['renewed', 'outcome'],
  options: ['max_attempts', 'delay', 'queue', 'key', ...(TUNED ? ['backoff'] : [])],
  columns: ['attempt', 'max_attempts', 'kind', 'payload', 'due', 'last_error'].concat(
    ['leased_by', 'lease_alive', 'lease_left'],
  ),
};

function connect(settings = {}) {
  return new IORedis(process.env.LEASEPROOF_REDIS, settings).on('error', console.error);
}

function control() {
  const connection = connect();
  const queues = new Map();
  const queueOf = (name) => {
    if (!queues.has(name)) queues.set(name, new Queue(name, { connection }).on('error', console.error));
    return queues.get(name);
  };

  async function row(id) {
    const [, name, own] = /^(.*):(.*)$/.exec(id);
    const queue = queueOf(name);
    const [job, state] = [await queue.getJob(own), await queue.getJobState(own)];
    if (!job) return { id, state: 'absent' };
    const left = state === 'active' ? await connection.pttl(`${queue.toKey(own)}:lock`) : null;
    return {
      id,
      state: STATES[state] ?? 'queued',
      attempt: String(job.attemptsStarted),
      max_attempts: String(Math.max(1, job.opts.attempts)),
      kind: job.name,
      payload: JSON.stringify(job.data),
      due: state === 'delayed' ? 'f' : 't',
      last_error: job.failedReason ?? null,
      leased_by: state === 'active' ? (job.processedBy ?? null) : null,
      lease_alive: left === null ? null : left > 0 ? 't' : 'f',
      lease_left: left === null ? null : String(Math.max(0, left) / 1000),
    };
  }

  return kit.control({
    describe: () => DESCRIBE,
    prepare: () => {},
    reclaim: () => ({ ids: null }),
    async enqueue({ jobs }) {
      const ids = [];
      for (const { job, queue: name = 'puppet', delay, max_attempts, key } of jobs) {
        const added = await queueOf(name).add('puppet', { job }, {
          ...(delay === undefined ? {} : { delay: delay * 1000 }),
          ...(max_attempts === undefined ? {} : { attempts: max_attempts }),
          ...(key === undefined ? {} : { deduplication: { id: key } }),
          ...(TUNED ? { backoff: { type: 'custom' } } : {}),
        });
        ids.push(`${name}:${added.id}`); // each queue counts from 1
      }
      return { ids };
    },
    async inspect({ ids }) {
      const rows = [];
      for (const id of ids) rows.push(await row(id));
      return { rows };
    },
  });
}

async function worker({ slots, queue, backoff }) {
  const line = { told: null };
  const begun = new Map(); // by the id in the queue: what the bench calls the job
  const names = (ids) => ids.map((id) => begun.get(id)).filter(Boolean);

  const processor = async (job) => {
    begun.set(job.id, job.data.job);
    try {
      await kit.obey(job.data.job, job.attemptsStarted);
    } catch (error) {
      throw error.kind === 'permanent' ? new UnrecoverableError(error.message) : error;
    }
  };
  const tuned = {
    lockDuration: LEASE * 1000,
    stalledInterval: STALLED * 1000,
    settings: {
      backoffStrategy: (made) => (backoff ? 1000 * Math.min(backoff[1], backoff[0] * 2 ** (made - 1)) : 0),
    },
  };
  const connection = connect({ maxRetriesPerRequest: null });
  const name = process.env.LEASEPROOF_WORKER;
  const settings = { connection, concurrency: slots, name, ...(TUNED ? tuned : {}) };
  const worker = new Worker(queue ?? 'puppet', processor, settings);

  worker.on('locksRenewed', ({ jobIds }) => line.told?.renewed(names(jobIds)));
  worker.on('lockRenewalFailed', (jobIds) => line.told?.renewed([], names(jobIds)));
  worker.on('completed', (job) => line.told?.outcome(job.data.job, job.attemptsStarted, true));
  worker.on('error', (error) => {
    console.error(error);
    const refused = /job (\S+?)[. ].*moveToFinished/i.exec(error.message)?.[1]; // it has no other word for it
    if (begun.has(refused)) line.told?.outcome(begun.get(refused), null, false);
  });
  if (TUNED) {
    process.on('SIGTERM', async () => {
      await worker.close();
      process.exit(0);
    });
  }
  await worker.waitUntilReady();
  line.told = await kit.ready();
}

const command = process.argv[2] === 'control' ? control() : worker(JSON.parse(process.env.LEASEPROOF_OPTIONS));
command.catch((error) => {
  console.error(error);
  process.exit(1);
});
