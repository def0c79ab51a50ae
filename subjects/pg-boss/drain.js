'use strict';
// pg-boss's worker, whose speed is measured: see docs/performance.md, "A queue of your own".
//
// A call of `work()` takes a batch each polling interval, unless `notifyWorker` says that there is more: so the handler
// does, and the worker fetches again at once, while the batch before is being completed.
// https://github.com/timgit/pg-boss/blob/10.4.0/docs/api/workers.md has both, and `insert` is beside it in jobs.md. The
// documentation gives no size for a batch. What is done stays in its table, without a result.

const pg = require('pg');
const PgBoss = require('pg-boss');
const tally = require('../../bench/kits/node/leaseproof_tally.js');

const connectionString = process.env.LEASEPROOF_POSTGRES;
const { version } = require('pg-boss/package.json');
const QUEUE = 'noop';
const BATCH = Number(process.env.LEASEPROOF_BATCH || 100);
const INSERT = 5000; // jobs in one statement

const LEFT = "SELECT count(*) FROM pgboss.job WHERE name = $1 AND state <> 'completed'";

/** What a statement returns, on a connection of its own. */
async function query(text, values) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const { rows } = await client.query(text, values);
  await client.end();
  return rows;
}

function started(settings = {}) {
  return new PgBoss({ connectionString, ...settings }).on('error', console.error).start();
}

const COMMANDS = {
  settings() {
    console.log(`pg-boss ${version}, one work() with batchSize ${BATCH}, notified after each batch`);
  },
  async fill(jobs) {
    const boss = await started({ supervise: false, schedule: false }); // it only sends
    await boss.createQueue(QUEUE);
    for (let start = 0; start < jobs; start += INSERT) {
      await boss.insert(Array.from({ length: Math.min(INSERT, jobs - start) }, () => ({ name: QUEUE })));
    }
    await query('VACUUM ANALYZE pgboss.job');
    process.exit(0);
  },
  async work() {
    await tally.waitForGo();
    const boss = await started();
    const id = await boss.work(QUEUE, { batchSize: BATCH, pollingIntervalSeconds: 0.5 }, async (jobs) => {
      for (const _ of jobs) tally.count();
      boss.notifyWorker(id);
    });
  },
  async left() {
    const [{ count }] = await query(LEFT, [QUEUE]);
    console.log(count);
  },
};

const [command, ...amounts] = process.argv.slice(2);
Promise.resolve(COMMANDS[command](...amounts.map(Number))).catch((error) => {
  console.error(error);
  process.exit(1);
});
