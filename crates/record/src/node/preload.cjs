// Samples this process or worker and writes what `--cpu-prof` would, for versions of Node that do not take that option
// from the environment. Processes that were given the option do it themselves.
'use strict';
const folder = process.env.PERFBLAME_CPU_PROF_DIR;
if (folder && !process.execArgv.includes('--cpu-prof')) {
  const inspector = require('inspector');
  const fs = require('fs');
  const path = require('path');
  const { threadId } = require('worker_threads');
  const session = new inspector.Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.setSamplingInterval', {
    interval: Number(process.env.PERFBLAME_CPU_PROF_INTERVAL) || 1000,
  });
  session.post('Profiler.start');
  process.once('exit', () => {
    session.post('Profiler.stop', (error, result) => {
      if (error) return;
      // As Node names them; processes have one file a thread, so that the times need not tell them apart.
      const name = `CPU.0.0.${process.pid}.${threadId}.001.cpuprofile`;
      try {
        fs.writeFileSync(path.join(folder, name), JSON.stringify(result.profile));
      } catch {
        // The recording is over, and this process outlived it.
      }
    });
  });
}
