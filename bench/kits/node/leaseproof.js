'use strict';
// The Node kit of leaseproof: the puppet, the worker's own line, and the control loop. Copy this one file (as
// leaseproof.cjs where package.json says "type": "module").
//
// Node 18 or newer, no dependencies. docs/protocol.md has what goes over the lines: one JSON object each, both ways. The
// witness's address, the arm's token and the worker's name come from the environment that the bench gives.
//
//     a worker's handler      await obey(job, attempt)
//     when it takes jobs      const line = await ready()      and then line.renewed(...), line.outcome(...)
//     the control process     control({ enqueue: async (request) => ({ ids: [...] }) })

const net = require('node:net');
const { setTimeout: sleep } = require('node:timers/promises');

/** The witness ordered a failure. `kind` is transient, permanent or rate-limited; `retryIn` is in seconds, or null. */
class OrderedFailure extends Error {
  constructor(kind, text, retryIn) {
    super(text);
    this.name = 'OrderedFailure';
    this.kind = kind;
    this.retryIn = retryIn;
  }
}

/** The witness ordered what this adapter, or this kit, can't do: the adapter's fault, and the witness is told so. */
class Unable extends Error {
  constructor(why) {
    super(why);
    this.name = 'Unable';
  }
}

/** One connection to the witness; its first message, `event`, says who is speaking. */
class Line {
  static async open(event, fields) {
    const line = new Line();
    const [, host, port] = /^(.*):(\d+)$/.exec(process.env.LEASEPROOF_WITNESS);
    line.socket = net.connect({ host, port: Number(port), noDelay: true });
    line.socket.on('error', () => {}); // Who waits for it is told; it must not end the process.
    const { LEASEPROOF_TOKEN: token, LEASEPROOF_WORKER: worker } = process.env;
    await line.say(event, { token, worker, pid: process.pid, ...fields });
    return line;
  }

  /** Send one message. */
  say(event, fields) {
    return new Promise((resolve, reject) => {
      const done = (error) => (error ? reject(error) : resolve());
      this.socket.write(`${JSON.stringify({ event, ...fields })}\n`, done);
    });
  }

  /** A heartbeat was answered: which jobs, by the bench's names, are still this worker's and which are not. */
  renewed(kept, lost = []) {
    return this.say('renewed', { kept, lost });
  }

  /** The queue took the finish of a job, or refused it. */
  outcome(job, attempt, accepted) {
    return this.say('outcome', { job, attempt: attempt ?? null, accepted });
  }

  /** A reclaim of the worker's own put these jobs back, by the queue's ids. */
  reclaimed(ids) {
    return this.say('reclaimed', { ids });
  }

  close() {
    this.socket.end();
  }
}

/** Say that this worker takes jobs from now on. The line keeps no process alive that has nothing else to do. */
async function ready() {
  const line = await Line.open('ready', {});
  line.socket.resume(); // Nothing comes; but that it ends must not go unseen.
  line.socket.unref();
  return line;
}

/**
 * Run one job as the witness orders; resolves when it says finish.
 *
 * `job` is the name that the bench put into the payload, `attempt` counts from 1 where the queue knows it, and `tools`
 * are what the queue gives its handlers, where it gives anything; a puppet that is ordered to use one does:
 *   key         the job's idempotency key
 *   lost        () => whether the job is not this worker's any more
 *   once        async (key, effect) => { await effect(first) }, `first` saying whether the effect is the first of its key
 *   connection  async () => { take one of the handlers' pool; return () => give it back }
 *   tick        the tick of the schedule that the job is for
 *
 * Throws OrderedFailure when the witness orders a failure, Unable when it orders what can't be done, another error when
 * it is gone.
 */
async function obey(job, attempt = null, tools = {}) {
  const line = await Line.open('started', { job, attempt, ...(tools.tick == null ? {} : { tick: tools.tick }) });
  const borrowed = [];
  try {
    for await (const order of messages(line.socket)) {
      try {
        if (await isLast(order, line, tools, borrowed)) return;
      } catch (error) {
        if (error instanceof Unable) await line.say('unable', { text: error.message });
        throw error;
      }
    }
    throw new Error('the witness hung up in the middle of a job');
  } finally {
    for (const giveBack of borrowed.reverse()) await giveBack();
    line.close();
  }
}

/** Do what is ordered; whether it was to finish. */
async function isLast(order, line, tools, borrowed) {
  switch (order.order) {
    case 'finish':
      await line.say('finished');
      return true;
    case 'fail':
      await line.say('raised', { error: order.text });
      throw new OrderedFailure(order.kind ?? 'transient', order.text, order.retry_in ?? null);
    case 'effect':
      await effect(line, order.key, order.guard ?? '', tools);
      break;
    case 'borrow':
      borrowed.push(await given(tools.connection, 'gives its handlers no connection')());
      await line.say('borrowed');
      break;
    case 'clock':
      await line.say('clock', { wall: Date.now() / 1000 });
      break;
    case 'sleep':
      await sleep(order.seconds * 1000);
      break;
    case 'spin':
    case 'block': // The two are the same where all there is is one loop.
      spin(order.seconds);
      break;
    case 'exit':
      process.exit(order.status);
      break;
    case 'hold':
      break;
    default:
      throw new Unable(`this kit does not know the order '${order.order}'`);
  }
  return false;
}

/** Make an effect, guarded as it is ordered. */
async function effect(line, key, guard, tools) {
  switch (guard) {
    case '':
      return line.say('effect', { key });
    case 'key':
      return line.say('effect', { key, under: given(tools.key, 'gives its handlers no idempotency key') });
    case 'once': {
      const once = given(tools.once, 'has no idempotency table');
      return once(key, (first) => line.say(first ? 'effect' : 'withheld', { key }));
    }
    case 'owner': {
      const lost = given(tools.lost, 'does not tell its handlers that a job is lost');
      return line.say((await lost()) ? 'withheld' : 'effect', { key });
    }
    default:
      throw new Unable(`this kit does not know the guard '${guard}'`);
  }
}

function given(tool, without) {
  if (tool == null) throw new Unable(`this adapter ${without}`);
  return tool;
}

function spin(seconds) {
  const until = performance.now() + seconds * 1000;
  while (performance.now() < until);
}

/**
 * Answer the bench's requests, until it says `stop` or closes stdin: one function each, by its name; then end the process.
 *
 * A function is given the request, and returns the answer (nothing: an empty one), or a promise of it. What it throws
 * becomes the `error`, and its stack goes to the log. So does all that is printed: stdout is for answers alone.
 */
async function control(requests) {
  const answer = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  for await (const message of messages(process.stdin)) {
    answer(`${JSON.stringify(await answerTo(message, { stop: () => {}, ...requests }))}\n`);
    if (message.request === 'stop') break;
  }
  process.exit(0); // Whatever the queue's client still holds open.
}

async function answerTo(message, requests) {
  const { id, request } = message;
  try {
    if (!Object.hasOwn(requests, request)) throw new Error(`this adapter does not do '${request}'`);
    return { id, answer: (await requests[request](message)) ?? {} };
  } catch (error) {
    console.error(error);
    return { id, error: String(error) };
  }
}

/** The JSON objects of a stream, one a line, until it ends; half a line is none. */
async function* messages(stream) {
  stream.setEncoding('utf8');
  let rest = '';
  for await (const text of stream) {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
}

module.exports = { obey, ready, control, OrderedFailure, Unable, Line };
