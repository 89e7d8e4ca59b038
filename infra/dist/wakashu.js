#!/usr/bin/env node
// Starts the program of this platform, which npm installed beside this package. Nothing is downloaded.
"use strict";
const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const platform = `${process.platform}-${process.arch}`;
const name = `@wakashu/${platform}`;
const known = Object.keys(require("./package.json").optionalDependencies);

let program;
try {
  program = require.resolve(`${name}/wakashu${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  if (known.includes(name)) {
    // https://github.com/npm/cli/issues/4828
    console.error(
      `wakashu: the package ${name} is missing. npm forgets packages of other platforms in lock files: ` +
        "delete node_modules and package-lock.json and install again, without --omit=optional.",
    );
  } else {
    console.error(`wakashu: there is no program for ${platform}. There are: ${known.join(", ")}.`);
  }
  process.exit(2);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal signals both of us, a supervisor only this process; the program decides when it is done.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"]) {
  if (signal in constants.signals) {
    process.on(signal, () => signal === "SIGINT" || child.kill(signal));
  }
}
child.on("error", (error) => {
  console.error(`wakashu: ${program} does not start: ${error.message}`);
  process.exit(2);
});
child.on("exit", (code, signal) => {
  process.exit(signal === null ? code : 128 + constants.signals[signal]);
});
