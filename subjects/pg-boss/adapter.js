'use strict';
// pg-boss behind the contract: `adapter.js control` or `adapter.js worker`; README.md has its settings.

const pg = require('pg');
const PgBoss = require('pg-boss');
const kit = require('../../bench/kits/node/leaseproof.js');

const TUNED = process.env.LEASEPROOF_PROFILE === 'tuned';
const CONNECTION = { connectionString: process.env.LEASEPROOF_POSTGRES, application_name: process.env.PGAPPNAME };
const EXPIRE = TUNED ? Math.max(1, Math.ceil(Number(process.env.LEASEPROOF_LEASE))) : 15 * 60; // whole seconds
const POLL = TUNED ? 0.5 : 2; // seconds, and half of one is the least that it takes
// A job that expires has spent an attempt, so that one that may expire soon needs more of them than the usual 2.
const SETTINGS = TUNED ? { expireInSeconds: EXPIRE, maintenanceIntervalSeconds: 1, retryLimit: 10 } : {};

const DESCRIBE = {
  subject: 'pg-boss',
  version: require('pg-boss/package.json').version,
  protocol: 1,
  ownership: 'age-only',
  beats: 'nobody',
  reclaim: 'automatic',
  attempts: 'claim',
  lease: EXPIRE,
  reclaim_every: TUNED ? 1 : 120,
  slack: POLL + (TUNED ? 1 : 120), // a maintenance that comes a hair too soon after the last one is left out
  retry_after: POLL,
  drain: { signal: 'SIGTERM', exit_codes: TUNED ? [0] : [-15] },
  options: ['max_attempts', 'priority', 'delay', 'queue', 'transaction', ...(TUNED ? ['grace'] : [])],
  columns: ['attempt', 'max_attempts', 'kind', 'payload', 'due', 'last_error'].concat(
    ['lease_alive', 'lease_expired', 'lease_left'],
  ),
  hold: 'SELECT id FROM pgboss.job WHERE id = %s FOR UPDATE',
};

const ROWS = `
  SELECT id::text, CASE WHEN started_on IS NULL THEN 0 ELSE retry_count + 1 END::text AS attempt,
    (retry_limit + 1)::text AS max_attempts, name AS kind, data::text AS payload,
    left((start_after <= now())::text, 1) AS due,
    coalesce(output->>'message', output->'value'->>'message') AS last_error,
    CASE WHEN state < 'active' THEN 'queued' WHEN state = 'active' THEN 'running' WHEN state = 'completed' THEN 'done'
      ELSE 'failed' END AS state,
    CASE WHEN state = 'active' THEN left((started_on + expire_in > now())::text, 1) END AS lease_alive,
    CASE WHEN state = 'active' THEN left((started_on + expire_in <= now())::text, 1) END AS lease_expired,
    CASE WHEN state = 'active' THEN round(extract(epoch FROM started_on + expire_in - now()), 3)::text END AS lease_left
  FROM pgboss.job WHERE id = ANY($1::uuid[])`;

/** As its README begins. */
async function started(settings = {}) {
  const boss = new PgBoss({ ...CONNECTION, ...SETTINGS, ...settings });
  boss.on('error', console.error);
  return boss.start();
}

async function control() {
  let booting = null;
  const ready = () => (booting ??= started({ supervise: false, schedule: false })); // it only sends
  const pool = new pg.Pool(CONNECTION).on('error', console.error); // the application's own
  let client = null; // one of the pool's, in a transaction

  await kit.control({
    describe: () => DESCRIBE,
    prepare: async () => void (await ready()),
    reclaim: () => ({ ids: null }),
    execute: async ({ statement }) => void (await (client ?? pool).query(statement)),
    async transaction({ do: what }) {
      client ??= await pool.connect();
      await client.query(what);
      if (what === 'begin') return;
      client.release();
      client = null;
    },
    async enqueue({ jobs }) {
      const [boss, ids] = [await ready(), []];
      for (const { job, queue = 'puppet', delay, max_attempts, priority } of jobs) {
        await boss.createQueue(queue);
        const options = {
          ...(priority === undefined ? {} : { priority }),
          ...(max_attempts === undefined ? {} : { retryLimit: max_attempts - 1 }),
          ...(delay === undefined ? {} : { startAfter: delay }),
          ...(client === null ? {} : { db: { executeSql: (text, values) => client.query(text, values) } }),
        };
        ids.push(await boss.send(queue, { job }, options));
      }
      return { ids };
    },
    async inspect({ ids }) {
      const found = new Map((await pool.query(ROWS, [ids])).rows.map((row) => [row.id, row]));
      return { rows: ids.map((id) => found.get(id) ?? { id, state: 'absent' }) };
    },
  });
}

async function worker({ slots, poll, queue, grace }) {
  const [boss, name] = [await started(), queue ?? 'puppet'];
  await boss.createQueue(name);
  const options = { includeMetadata: true, ...(TUNED ? { pollingIntervalSeconds: Math.max(POLL, poll) } : {}) };
  for (let slot = 0; slot < slots; slot++) {
    await boss.work(name, options, ([job]) => kit.obey(job.data.job, job.retryCount + 1));
  }
  if (TUNED) {
    process.on('SIGTERM', async () => {
      await boss.stop(grace === null ? {} : { timeout: grace * 1000 });
      process.exit(0);
    });
  }
  await kit.ready();
}

const command = process.argv[2] === 'control' ? control() : worker(JSON.parse(process.env.LEASEPROOF_OPTIONS));
command.catch((error) => {
  console.error(error);
  process.exit(1);
});
