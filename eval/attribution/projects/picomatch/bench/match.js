'use strict';

// What a build tool does all day: compile globs, try paths, leave out what is ignored.
const picomatch = require('..');

const FOLDERS = ['src', 'lib', 'test', 'node_modules/left', 'docs', 'packages/core/src', '.cache'];
const NAMES = ['index', 'parser.test', 'main.d', 'README', 'some-longer-name', 'a', 'vendor.min'];
const ENDINGS = ['.js', '.ts', '.tsx', '.css', '.md', '.json', ''];

const GLOBS = [
  '**/*.js', 'src/**/*.{ts,tsx}', '!**/node_modules/**', '*.md', 'packages/*/src/**/[a-m]*.ts',
  '**/!(*.d).ts', '**/{test,docs}/**/?(*.)+(spec|test).[jt]s', 'lib/**', '**/.*', 'src/*.{1..9}.css'
];
const IGNORED = ['**/*.min.*', '**/{.cache,node_modules}/**'];

const paths = [];
for (const folder of FOLDERS) {
  for (const name of NAMES) {
    for (const ending of ENDINGS) paths.push(`${folder}/${name}${ending}`);
  }
}

const ROUNDS = 60;
let matched = 0;
let compiled = 0;
for (let round = 0; round < ROUNDS; round++) {
  for (const glob of GLOBS) {
    const isMatch = picomatch(glob);
    for (let again = 0; again < 8; again++) {
      for (const path of paths) matched += isMatch(path) ? 1 : 0;
    }
  }
  // A watcher is asked about a few paths at a time.
  const isWatched = picomatch('**/*.{js,ts}', { ignore: IGNORED });
  for (let step = 0; step < paths.length; step += 4) matched += isWatched(paths[step]) ? 1 : 0;
  for (let version = 0; version < 60; version++) {
    compiled += picomatch.makeRe(`src/v${version}/{a,b}/**/*.@(js|ts)`).source.length;
  }
}
console.log(matched, compiled);
