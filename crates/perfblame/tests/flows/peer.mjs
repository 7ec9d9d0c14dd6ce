// Replays a flow with `@puppeteer/replay` and prints what the page saw, as JSON.
//
// node peer.mjs TOOLS BROWSER FLOW
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [tools, executablePath, file] = process.argv.slice(2);
const require = createRequire(join(tools, 'package.json'));
const { PuppeteerRunnerExtension, createRunner, parse } = require('@puppeteer/replay');
const puppeteer = require('puppeteer-core');

const flow = parse(JSON.parse(readFileSync(file, 'utf8')));
const browser = await puppeteer.launch({
  executablePath,
  headless: true,
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--hide-scrollbars'],
});
try {
  const page = await browser.newPage();
  class Told extends PuppeteerRunnerExtension {
    async beforeEachStep(step) {
      console.error(JSON.stringify(step));
    }
  }
  const runner = await createRunner(flow, new Told(browser, page));
  await runner.run();
  await new Promise(resolve => setTimeout(resolve, 100));
  console.log(JSON.stringify(await page.evaluate('seen()')));
} finally {
  await browser.close();
}
