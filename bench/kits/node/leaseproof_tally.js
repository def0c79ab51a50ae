'use strict';
// Counts the handler calls of a worker whose speed is measured: see docs/performance.md, "A queue of your own".
//
//     const tally = require('leaseproof_tally.js');
//     await tally.waitForGo();   // prints `ready`, resolves at the line `go`; from then on each line is answered
//     ...                        // run the worker; each handler call does
//     tally.count();
//
// It ends the process when stdin closes. What else is printed goes to stderr: stdout is for answers alone.

const readline = require('node:readline');

let jobs = 0;
let first = null;
let last = null;

/** Count one handler call. */
function count() {
  last = process.hrtime.bigint();
  first ??= last;
  jobs += 1;
}

/** Say that everything is imported, and wait until the worker may begin. */
function waitForGo() {
  const answer = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  return new Promise((resolve) => {
    const lines = readline.createInterface({ input: process.stdin });
    lines.once('line', () => {
      lines.on('line', () => answer(`{"jobs": ${jobs}, "first": ${first}, "last": ${last}}\n`)); // bigint is no JSON
      resolve();
    });
    lines.on('close', () => process.exit(0)); // Whatever the worker still holds open.
    answer('ready\n');
  });
}

module.exports = { count, waitForGo };
