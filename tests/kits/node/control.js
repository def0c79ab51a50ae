'use strict';
// The control program of the Node kit; ../cases.py says what it does.

const { setTimeout: sleep } = require('node:timers/promises');
const { control } = require('leaseproof');

control({
  echo: async ({ id, request, ...got }) => {
    await sleep(1);
    return { got };
  },
  nothing: () => {},
  fail: (request) => {
    throw new Error(request.text);
  },
  print: (request) => console.log(request.text),
});
