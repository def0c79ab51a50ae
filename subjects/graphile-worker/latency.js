'use strict';
// A worker of graphile-worker's which tells when each task starts: see bench/speed/latency.py.

const { Logger, run, runMigrations } = require('graphile-worker');

const connectionString = process.env.LEASEPROOF_POSTGRES;

const noop = (payload, helpers) => {
  const now = process.hrtime.bigint();
  process.stdout.write(`${helpers.job.id} ${now}\n`);
};

async function main() {
  await runMigrations({ connectionString });
  const enqueue = "SELECT id FROM graphile_worker.add_job('noop', '{}'::json)";
  const settings = 'concurrency 1, pollInterval 2 s: all as by default, but that it logs nothing';
  process.stdout.write(`${JSON.stringify({ settings, enqueue })}\n`);
  const logger = new Logger(() => () => {}); // it writes two lines a job to stdout
  const runner = await run({ connectionString, concurrency: 1, logger, taskList: { noop } });
  await runner.promise;
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
