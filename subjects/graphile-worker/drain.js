'use strict';
// graphile-worker's worker, whose speed is measured: see docs/performance.md, "A queue of your own".
//
// Set as https://worker.graphile.org/docs/performance has it for its own figures, with the logger kept to warnings.
// Batch n is a local queue of n jobs, and no more tasks at once; batch 1 is its "without batching", each task claiming
// for itself. Jobs are put in by add_jobs (https://worker.graphile.org/docs/sql-add-job#graphile_workeradd_jobs). A job
// that is done is deleted; the library has no results.

const { Logger, run, runMigrations } = require('graphile-worker');
const pg = require('pg');
const tally = require('../../bench/kits/node/leaseproof_tally.js');

const connectionString = process.env.LEASEPROOF_POSTGRES;
const { version } = require('graphile-worker/package.json');
const BATCH = Number(process.env.LEASEPROOF_BATCH || 500);
const SIZE = BATCH > 1 ? BATCH : -1; // of the local queue; -1 is none
const CONCURRENT = SIZE > 0 ? Math.min(24, SIZE) : 24;

const FILL = `
  SELECT count(*) FROM graphile_worker.add_jobs(
    ARRAY(SELECT json_populate_record(NULL::graphile_worker.job_spec, '{"identifier": "noop"}')
      FROM generate_series(1, $1)))`;

/** What a statement returns, on a connection of its own. */
async function query(text, values) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const { rows } = await client.query(text, values);
  await client.end();
  return rows;
}

function log(level, message) {
  if (level === 'warning' || level === 'error') console.error(message);
}

const COMMANDS = {
  settings() {
    const queue = SIZE > 0 ? `localQueue ${SIZE}` : 'no localQueue';
    console.log(`graphile-worker ${version}, concurrentJobs ${CONCURRENT}, ${queue}, completeJobBatchDelay 0`);
  },
  async fill(jobs) {
    await runMigrations({ connectionString, logger: new Logger(() => log) });
    await query(FILL, [jobs]);
    await query('VACUUM ANALYZE graphile_worker._private_jobs');
  },
  async work() {
    await tally.waitForGo();
    const worker = {
      connectionString,
      concurrentJobs: CONCURRENT,
      maxPoolSize: CONCURRENT + 1,
      localQueue: { size: SIZE },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
      logger: new Logger(() => log),
    };
    const runner = await run({ preset: { worker }, taskList: { noop: () => tally.count() } });
    await runner.promise;
  },
  async left() {
    console.log((await query('SELECT count(*) FROM graphile_worker.jobs'))[0].count);
  },
};

const [command, ...amounts] = process.argv.slice(2);
Promise.resolve(COMMANDS[command](...amounts.map(Number))).catch((error) => {
  console.error(error);
  process.exit(1);
});
