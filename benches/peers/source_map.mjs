// npm's `source-map` looks up the places where the functions of a profile start in the bundle's source map.
//
// source_map.mjs prepare TOOLS PROFILE MAP OUT   writes OUT: the mappings, then a line per place with the answer
// source_map.mjs time TOOLS PROFILE MAP          prints the seconds of one turn, without reading the files
// source_map.mjs names TOOLS PROFILE MAP         prints all answers
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [what, tools, profileFile, mapFile, out] = process.argv.slice(2);
const { SourceMapConsumer } = createRequire(join(tools, 'index.js'))('source-map');

const { nodes } = JSON.parse(readFileSync(profileFile, 'utf8'));
const map = JSON.parse(readFileSync(mapFile, 'utf8'));
const starts = new Set();
for (const { callFrame } of nodes) {
  if (callFrame.url.endsWith('/bundle.js')) starts.add(`${callFrame.lineNumber} ${callFrame.columnNumber}`);
}
const places = [...starts].map((start) => start.split(' ').map(Number));
places.sort((one, other) => one[0] - other[0] || one[1] - other[1]);

const start = performance.now();
const consumer = await new SourceMapConsumer(map);
const found = places.map(([line, column]) => consumer.originalPositionFor({ line: line + 1, column }));
const seconds = (performance.now() - start) / 1e3;

if (what === 'prepare') {
  const lines = found.map(({ source, line, column }, row) => {
    const origin = source === null ? '-' : `${consumer.sources.indexOf(source)} ${line - 1} ${column}`;
    return `${places[row].join(' ')} ${origin}`;
  });
  writeFileSync(out, [map.mappings, ...lines, ''].join('\n'));
} else if (what === 'time') {
  console.log(seconds);
} else {
  for (const { source, line, name } of found) console.log(name, source, line);
}
