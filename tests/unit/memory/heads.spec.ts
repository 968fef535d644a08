// SPDX-License-Identifier: Apache-2.0
// What a follow-up whose head changed still shares with what was served: all in front of the change.
import { HeadTable } from "../../../assembly/memory/head-table";
import { Homes } from "../../../assembly/memory/homes";
import { Request } from "../../../assembly/request/request";
import {
  assistant,
  chat,
  MESSAGES,
  readChat,
  Reading,
  readOn,
  system,
  user,
} from "../request/reading";
import { aWorker, START_MS, Talk, Worker } from "./worlds";

const NOW: u64 = START_MS;
/** 8,800 bytes: 8 whole pieces of 1,024 and a rest. */
const RULES = "You are an agent with many rules to follow. ".repeat(200);
const FIRST = user("q");
const NEXT = [user("q"), assistant("a"), user("r")].join(",");

function tools(names: string[]): string {
  const list: string[] = [];
  for (let i = 0; i < names.length; i++) {
    list.push('{"type":"function","function":{"name":"' + names[i] + '","description":"does it"}}');
  }
  return ',"tools":[' + list.join(",") + "]";
}

function messages(systemText: string, items: string): Request {
  return readOn(MESSAGES, '{"system":' + systemText + ',"messages":[' + items + "]}");
}

function textPart(text: string): string {
  return '{"type":"text","text":"' + text + '"}';
}

function serve(worker: Worker, request: Request): void {
  worker.affinity.find(request, worker.fleet, worker.homes, NOW);
  worker.affinity.learn(request, worker.fleet, worker.homes, 0, NOW);
}

/** What a worker knows of `next` when it has served `first`. */
function knownOf(first: Request, next: Request): Homes {
  const worker = aWorker();
  worker.enroll("10.0.0.1:8000", NOW);
  serve(worker, first);
  worker.affinity.find(next, worker.fleet, worker.homes, NOW + 1_000);
  expect(worker.homes.count).toBe(1);
  expect(worker.homes.verifiedTurn).toBe(2);
  return worker.homes;
}

/** A call of a talk whose head is `pieces` long and differs from others' in its last piece. */
function serveTalk(worker: Worker, talk: Talk, pieces: i32, nowMs: u64): void {
  const request = worker.request;
  talk.fill(request);
  request.headPieceCount = pieces;
  for (let i = 0; i < pieces; i++) {
    request.headPieces[i] = i + 1 < pieces ? <u64>i + 1 : talk.head;
    request.headPieceTokens[i] = <u32>(i + 1) * 100;
    request.headPieceBytes[i] = <u32>(i + 1) * 400;
  }
  worker.affinity.find(request, worker.fleet, worker.homes, nowMs);
  worker.affinity.learn(request, worker.fleet, worker.homes, 0, nowMs);
}

describe("a head that changed", () => {
  it("is common up to a clock at the end of a system item", () => {
    const first = readChat(chat(system(RULES + "It is 10:00:01.") + "," + FIRST));
    const next = readChat(chat(system(RULES + "It is 10:00:07.") + "," + NEXT));
    const homes = knownOf(first, next);
    expect(homes.headDiffers).toBe(true);
    expect(homes.seenBytes).toBe(8_192);
    expect(homes.prefixTokens[0]).toBe(next.headPieceTokens[7]);
    expect(homes.seenTokens).toBe(homes.prefixTokens[0]);
  });

  it("is common up to a clock at the end of a system key", () => {
    const homes = knownOf(
      messages('"' + RULES + 'It is 10:00:01."', FIRST),
      messages('"' + RULES + 'It is 10:00:07."', NEXT),
    );
    expect(homes.headDiffers).toBe(true);
    expect(homes.seenBytes).toBe(8_192);
  });

  it("is common up to a clock in a part of its own, wherever the parts are", () => {
    const before = "[" + textPart("Rules.") + "," + textPart("It is 10:00:01.") + "]";
    const after = "[" + textPart("Rules.") + "," + textPart("It is 10:00:07.") + "]";
    let homes = knownOf(messages(before, FIRST), messages(after, NEXT));
    expect(homes.seenBytes).toBe(6);
    const item = '{"role":"system","content":';
    homes = knownOf(
      readChat(chat(item + before + "}," + FIRST)),
      readChat(chat(item + after + "}," + NEXT)),
    );
    expect(homes.seenBytes).toBe(6);
  });

  it("is common when the role of a system item comes last", () => {
    const item = (clock: string): string => '{"content":"' + RULES + clock + '","role":"system"},';
    const homes = knownOf(readChat(chat(item("1") + FIRST)), readChat(chat(item("2") + NEXT)));
    expect(homes.seenBytes).toBe(8_192);
  });

  it("is common up to the first moved tool", () => {
    const first = readChat(chat(system("s") + "," + FIRST, tools(["b", "x", "y"])));
    const next = readChat(chat(system("s") + "," + NEXT, tools(["b", "y", "x"])));
    const homes = knownOf(first, next);
    expect(homes.headDiffers).toBe(true);
    // The system item and tool b.
    expect(homes.prefixTokens[0]).toBe(next.headPieceTokens[1]);
    expect(homes.seenTokens < next.headTokens).toBe(true);
  });

  it("is common as a whole when a tool was added at the end", () => {
    const first = readChat(chat(system("s") + "," + FIRST, tools(["b", "x"])));
    const next = readChat(chat(system("s") + "," + NEXT, tools(["b", "x", "y"])));
    const homes = knownOf(first, next);
    expect(homes.headDiffers).toBe(true);
    expect(homes.prefixTokens[0]).toBe(first.headTokens);
    expect(homes.seenBytes).toBe(first.headBytes);
  });

  it("has not changed by a nonce block that is skipped, and is common behind one", () => {
    const nonce = (text: string): string => textPart("x-anthropic-billing-header: cch=" + text);
    const body = (seed: string, clock: string): string =>
      "[" + nonce(seed.repeat(2_000)) + "," + textPart("Rules.") + "," + textPart(clock) + "]";
    let homes = knownOf(messages(body("A", "1"), FIRST), messages(body("B", "1"), NEXT));
    expect(homes.headDiffers).toBe(false);
    homes = knownOf(messages(body("A", "1"), FIRST), messages(body("B", "2"), NEXT));
    expect(homes.headDiffers).toBe(true);
    expect(homes.seenBytes).toBe(6);
    const reading = new Reading();
    reading.path = MESSAGES;
    reading.skipNonce = false;
    homes = knownOf(
      reading.read('{"system":' + body("A", "1") + ',"messages":[' + FIRST + "]}"),
      reading.read('{"system":' + body("B", "1") + ',"messages":[' + NEXT + "]}"),
    );
    expect(homes.seenBytes).toBe(0);
  });

  it("has nothing in common when it differs in its first piece or in what renders it", () => {
    let homes = knownOf(
      readChat(chat(system("Now 1. " + RULES) + "," + FIRST)),
      readChat(chat(system("Now 2. " + RULES) + "," + NEXT)),
    );
    expect(homes.prefixTokens[0]).toBe(0);
    expect(homes.seenBytes).toBe(0);
    const rendered = (effort: string): string => ',"reasoning_effort":"' + effort + '"';
    homes = knownOf(
      readChat(chat(system("s") + "," + FIRST, tools(["b"]) + rendered("low"))),
      readChat(chat(system("s") + "," + NEXT, tools(["b"]) + rendered("high"))),
    );
    expect(homes.headDiffers).toBe(true);
    expect(homes.seenBytes).toBe(0);
  });

  it("takes no piece from a long text that is none of the head", () => {
    const request = readChat(chat('{"content":"' + RULES + '","role":"user"}'));
    expect(request.headPieceCount).toBe(0);
  });

  it("is found by another worker", () => {
    const one = aWorker();
    const other = new Worker(one.store.shared, one.gauges.shared);
    one.enroll("10.0.0.1:8000", NOW);
    serve(one, readChat(chat(system(RULES + "1") + "," + FIRST)));
    const next = readChat(chat(system(RULES + "2") + "," + NEXT));
    other.affinity.find(next, other.fleet, other.homes, NOW + 1_000);
    expect(other.homes.seenBytes).toBe(8_192);
  });
});

describe("the table of heads", () => {
  it("costs a steady head nothing", () => {
    const worker = aWorker();
    worker.enroll("10.0.0.1:8000", NOW);
    const counts: i32[] = [];
    for (let pieces = 0; pieces < 4; pieces += 3) {
      const talk = new Talk(<u64>pieces + 1);
      serveTalk(worker, talk, pieces, NOW);
      worker.store.resetCounts();
      serveTalk(worker, talk.step(2, 3), pieces, NOW + 1_000);
      counts.push(worker.store.reads * 100 + worker.store.writes);
    }
    expect(counts[1]).toBe(counts[0]);
  });

  it("keeps within 17 reads and 8 writes when a head is new or changes on every call", () => {
    const worker = aWorker();
    worker.enroll("10.0.0.1:8000", NOW);
    const talk = new Talk(1);
    talk.session = 9;
    for (let turn = 2; turn <= 300; turn++) {
      talk.step(<u64>turn * 10, <u64>turn * 10 + 1).head = <u64>turn + 1_000;
      worker.store.resetCounts();
      serveTalk(worker, talk, 128, NOW + <u64>turn);
      expect(worker.store.reads).toBeLessThanOrEqual(17, turn.toString());
      expect(worker.store.writes).toBeLessThanOrEqual(8, turn.toString());
      if (turn > 2) expect(worker.homes.seenTokens).toBe(1_000, turn.toString());
    }
    for (let runs = 1; runs < 250; runs += 7) {
      const fork = talk.fork(runs, 424_242);
      fork.head = <u64>runs + 5_000;
      worker.store.resetCounts();
      serveTalk(worker, fork.step(5, 6).step(7, 8).step(9, 10), 128, NOW + 1_000);
      expect(worker.store.reads).toBeLessThanOrEqual(17, runs.toString());
      expect(worker.store.writes).toBeLessThanOrEqual(8, runs.toString());
    }
  });

  it("is bounded, and puts the oldest out", () => {
    const worker = aWorker();
    const table = new HeadTable(worker.store, 1_000);
    const request = new Request();
    request.headTokens = 100;
    request.headPieceCount = 1;
    request.headPieceTokens[0] = 50;
    for (let head: u64 = 1; head <= 2_000; head++) {
      request.head = request.headPieces[0] = head;
      table.learn(request, NOW);
    }
    expect(worker.store.shared.bytes).toBeLessThanOrEqual(HeadTable.capacityBytes(1_000));
    const homes = new Homes();
    homes.matchedHead = 2_000;
    table.tellCommon(request, homes);
    expect(homes.seenTokens).toBe(50);
    homes.seenTokens = 0;
    homes.matchedHead = 1;
    request.headPieces[0] = 1;
    table.tellCommon(request, homes);
    expect(homes.seenTokens).toBe(0);
  });

  it("keeps a steady head that changing ones would push out", () => {
    const worker = aWorker();
    const table = new HeadTable(worker.store, 1_000);
    const request = new Request();
    request.headTokens = 100;
    request.headPieceCount = 1;
    request.headPieceTokens[0] = 50;
    for (let i: u64 = 0; i < 1_000; i++) {
      request.head = request.headPieces[0] = i % 20 == 0 ? 7 : i + 100;
      table.learn(request, NOW + i * 4_000);
    }
    const homes = new Homes();
    homes.matchedHead = 7;
    request.headPieces[0] = 7;
    table.tellCommon(request, homes);
    expect(homes.seenTokens).toBe(50);
  });

  it("takes foreign bytes for an empty table", () => {
    const worker = aWorker();
    worker.enroll("10.0.0.1:8000", NOW);
    const talk = new Talk(1);
    serveTalk(worker, talk, 128, NOW);
    for (let byte = 0; byte < 24; byte++) {
      worker.store.shared.damage(byte, 0xff);
      serveTalk(worker, talk.step(<u64>byte + 10, <u64>byte + 50), 128, NOW + <u64>byte * 61_000);
      expect(worker.homes.seenTokens <= worker.request.promptTokens).toBe(true);
    }
  });
});
