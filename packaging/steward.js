#!/usr/bin/env node
// Starts the program that the package for this system holds. npm installs only the package that fits.
'use strict';
const { spawn } = require('node:child_process');
const name = process.platform === 'win32' ? 'steward.exe' : 'steward';
let program;
try {
    program = require.resolve(`vault-steward-${process.platform}-${process.arch}/${name}`);
} catch {
    console.error(`error: there is no package of vault-steward for ${process.platform} ${process.arch}
hint: install again without \`--omit=optional\`, or build it from its sources`);
    process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
    console.error(`error: cannot start ${program}: ${error.message}`);
    process.exit(1);
});
child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
});
