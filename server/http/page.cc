#include "server/http/page.h"

namespace tandem::http {

const char kPage[] = R"html(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tandem</title>
<style>
:root {
  color-scheme: light dark;
  --ink: #1b1f24; --soft: #667080; --line: #dfe3e8; --paper: #fff; --accent: #2f6fde; --good: #1a7f37; --bad: #b42318;
}
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ee; --soft: #939eae; --line: #2c333d; --paper: #14181d; --accent: #7aa7ff; --good: #6bc46d; --bad: #ff8a7a; }
}
body { margin: 2rem auto; max-width: 80rem; padding: 0 1rem; background: var(--paper); color: var(--ink);
       font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.3rem; } h2 { font-size: 1rem; margin: 2rem 0 .5rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .4rem 1.5rem .4rem 0; border-bottom: 1px solid var(--line); }
th, td:not(.note) { white-space: nowrap; }
td.note { min-width: 12rem; }
th, .soft { color: var(--soft); font-weight: normal; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.bar { width: 8rem; height: 4px; border-radius: 2px; background: var(--line); }
.bar div { height: 100%; border-radius: 2px; background: var(--accent); }
svg { vertical-align: middle; margin-right: .8rem; }
polyline { fill: none; stroke: var(--accent); stroke-width: 1.5; }
.failed { color: var(--bad); } .succeeded { color: var(--good); } .running { color: var(--accent); }
#trouble { color: var(--bad); }
</style>
<h1>Tandem</h1>
<div id="trouble" role="status"></div>
<h2>Jobs</h2>
<div class="scroll"><table><thead><tr><th>Job<th>State<th class="number">Ranks<th>Level<th>Progress
<th class="number">Steps/s<th>Loss<th class="number">Held out<th class="number">Age<th>Note
</thead><tbody id="jobs"></tbody></table></div>
<h2>Workers</h2>
<div class="scroll"><table><thead><tr><th>Worker<th>State<th>Host<th>Slots</thead><tbody id="workers"></tbody></table></div>
<script>
"use strict";
const shownJobs = 50, drawnJobs = 10, drawnPoints = 120, pageSize = 20000, period = 2000;
const histories = new Map();  // By job: the attempt, the next step to ask for, all losses before it.

async function get(path) {
  const response = await fetch("api/v1/" + path);
  if (!response.ok) throw new Error((await response.json()).error);
  return response.json();
}
function element(name, style, ...content) {
  const made = document.createElement(name);
  made.className = style;
  made.append(...content);
  return made;
}
function row(table, ...cells) { table.insertRow().append(...cells); }
function emptyRow(table, columns, ...content) {
  const cell = element("td", "soft", ...content);
  cell.colSpan = columns;
  row(table, cell);
}
function show(table, id) {
  table.id = id;
  document.getElementById(id).replaceWith(table);
}
function stateOf(job) { return job.state.replace("JOB_STATE_", "").toLowerCase(); }
function noteOf(job) {
  if (stateOf(job) === "queued") return job.waitingReason;
  return job.cause ? job.cause.message : "";
}
function ageOf(job) {
  const seconds = Math.max(0, (Date.now() - Date.parse(job.submittedAt)) / 1000);
  for (const [unit, length] of [["d", 86400], ["h", 3600], ["m", 60]]) {
    if (seconds >= length) return Math.floor(seconds / length) + unit;
  }
  return Math.floor(seconds) + "s";
}
// Nothing for a job that went through in one attempt.
function timelineOf(job) {
  if (!(job.attempts?.length > 1)) return "";
  const list = element("ol", "");
  for (const attempt of job.attempts) {
    const steps = Number(attempt.lastStep) ? `steps ${attempt.firstStep} to ${attempt.lastStep}` : "no step";
    const end = attempt.cause ? attempt.cause.message : attempt.endedAt ? "finished" : "runs";
    const line = element("li", "", `${attempt.worldSize} ranks, ${steps}: ${end}`);
    line.value = attempt.number;
    list.append(line);
  }
  return list;
}
// Empty for a job of a version that kept no receipt.
function levelOf(job) {
  return job.receipt ? job.receipt.level.replace("EQUIVALENCE_LEVEL_", "").toLowerCase() : "";
}
function progressOf(job) {
  const bar = element("div", "bar", element("div", ""));
  const total = Number(job.totalSteps);
  bar.firstChild.style.width = (total ? 100 * Number(job.step) / total : 0) + "%";
  const saved = element("span", "soft", job.checkpoint ? `, saved at ${job.checkpoint.step}` : "");
  return element("td", "", job.step + (total ? " / " + total : ""), saved, bar);
}
async function extendHistory(job) {
  let known = histories.get(job.id);
  if (!known || known.attempt !== job.attempt) known = {attempt: job.attempt, next: 1, losses: []};
  histories.set(job.id, known);
  const last = Number(job.step);  // What stands after it is of an earlier attempt.
  while (known.next <= last) {
    const size = Math.min(pageSize, last - known.next + 1);
    const page = await get(`jobs/${job.id}/history?from_step=${known.next}&page_size=${size}`);
    for (const s of page.samples) {
      if (Number(s.step) <= last && Number(s.count)) known.losses.push(Number(s.lossSum) / Number(s.count));
    }
    known.next = Number(page.nextStep) || last + 1;
  }
}
// At most drawnPoints values, each the mean of as many.
function reduced(values) {
  const points = Math.min(drawnPoints, values.length);
  return Array.from({length: points}, (_, i) => {
    const part = values.slice(Math.floor(i * values.length / points),
                              Math.floor((i + 1) * values.length / points));
    return part.reduce((sum, value) => sum + value, 0) / part.length;
  }).filter(Number.isFinite);
}
function curve(values) {
  const width = 120, height = 24, ns = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(ns, "svg");
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  if (values.length < 2) return svg;
  const low = Math.min(...values), span = Math.max(...values) - low || 1;
  const line = document.createElementNS(ns, "polyline");
  line.setAttribute("points", values.map((v, i) =>
    `${i * width / (values.length - 1)},${1 + (height - 2) * (1 - (v - low) / span)}`).join(" "));
  svg.append(line);
  return svg;
}
function showJobs(jobs) {
  const table = document.createElement("tbody");
  for (const job of jobs.slice(0, shownJobs)) {
    const state = stateOf(job), known = histories.get(job.id);
    row(table, element("td", "", job.id), element("td", state, state),
        element("td", "number", String(job.worldSize)), element("td", "", levelOf(job)), progressOf(job),
        element("td", "number", state === "running" ? job.stepsPerSecond.toFixed(1) : ""),
        element("td", "", curve(known ? reduced(known.losses) : []),
                job.loss === undefined ? "" : Number(job.loss).toPrecision(4)),
        element("td", "number", job.evaluation?.accuracy !== undefined ? (100 * job.evaluation.accuracy).toFixed(2) + " %" : ""),
        element("td", "number", ageOf(job)), element("td", "note soft", noteOf(job), timelineOf(job)));
  }
  if (jobs.length === 0) {
    emptyRow(table, 10, "No jobs yet. Start one: ",
             element("code", "", "tandem submit examples/digits.yaml"));
  }
  if (jobs.length > shownJobs) emptyRow(table, 10, `${jobs.length - shownJobs} older jobs are not shown.`);
  show(table, "jobs");
}
function workerStateOf(worker) {
  const state = worker.state.replace("WORKER_STATE_", "").toLowerCase();
  return element("td", state === "disconnected" ? "failed" : "", state + (worker.draining ? ", draining" : ""));
}
function deviceOf(slot) {
  return slot.model ? ` (${slot.model}, ${Math.round(slot.memoryBytes / 2 ** 30)} GiB)` : "";
}
function showWorkers(workers) {
  const table = document.createElement("tbody");
  for (const worker of workers) {
    const slots = worker.slots.map(s => s.name + deviceOf(s) + (s.jobId ? ` ${s.jobId} rank ${s.rank}` : " free"));
    row(table, element("td", "", worker.name), workerStateOf(worker), element("td", "", worker.host),
        element("td", "note", slots.join(", ")));
  }
  if (workers.length === 0) emptyRow(table, 4, "No worker is connected.");
  show(table, "workers");
}
async function refresh() {
  const trouble = document.getElementById("trouble");
  try {
    const [{jobs}, {workers}] = await Promise.all([get("jobs"), get("workers")]);
    showWorkers(workers);
    showJobs(jobs);
    await Promise.all(jobs.slice(0, drawnJobs).map(extendHistory));
    showJobs(jobs);
    trouble.textContent = "";
  } catch (error) {
    trouble.textContent = "The coordinator does not answer: " + error.message;
  }
  setTimeout(refresh, period);
}
refresh();
</script>
</html>
)html";

}  // namespace tandem::http
