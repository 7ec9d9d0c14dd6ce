'use strict';

// Reads and writes a settings file again and again.
const yaml = require('..');

const services = {};
for (let i = 0; i < 60; i++) {
  services[`service-${i}`] = {
    image: `registry/app-${i % 7}:1.${i}`,
    enabled: i % 3 === 0,
    weight: i / 7,
    started: new Date(Date.UTC(2024, i % 12, 1 + (i % 28), i % 24)),
    ports: [8000 + i, 9000 + i],
    notes: i % 5 ? `runs "quoted" text: #${i}, and more` : 'first line\nsecond line that is longer\n\nlast\n',
    environment: { LEVEL: 'info', EMPTY: null, UNICODE: `caf\u00e9 ${i}`, HEX: 255 * i },
    tags: ['a', 'b c', '- d', 'true', '0x1F', '~']
  };
}

let text = '';
let keys = 0;
for (let round = 0; round < 30; round++) {
  text = yaml.dump({ version: round, services }, { lineWidth: 60 + (round % 20), sortKeys: round % 2 === 0 });
  const flow = yaml.dump(services[`service-${round}`], { flowLevel: 1 });
  keys += Object.keys(yaml.load(text).services).length + Object.keys(yaml.load(flow)).length;
}
console.log(keys, text.length);
