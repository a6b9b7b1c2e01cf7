/**
 * Finds programs that some tests need and npm does not provide, such as pgbouncer. An installed program is used.
 * Otherwise, on systems with apt or Python, its packages are unpacked into `.jobforge-tools/` of this checkout. Nothing
 * is installed on the system and no special permission is needed. Plain JavaScript without dependencies, like
 * everything in this folder. `node scripts/tools.js pgbouncer schemathesis` downloads programs in advance.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const cache = fileURLToPath(new URL("../.jobforge-tools/", import.meta.url));

/**
 * The programs that can be downloaded. `packages` are the Debian packages of a program and `binary` is its path in
 * them; `python` are Python packages and `module` the module to run. `probe` is the argument with which the program
 * only describes itself; usually `--version`. `installed` are other names under which the program may be installed.
 */
const tools = {
  pgbouncer: { packages: ["pgbouncer"], binary: "usr/sbin/pgbouncer" },
  "chromium-headless-shell": {
    // A browser that is installed will do as well.
    installed: ["chromium", "google-chrome", "google-chrome-stable", "chromium-browser"],
    // The second has data files. Where it is installed on the system, apt would not list it as missing.
    packages: ["chromium-headless-shell", "chromium-common"],
    binary: "usr/lib/chromium/chromium-headless-shell",
    // A folder with a library that another library finds by itself only if it is installed on the system.
    libraries: ["pulseaudio"],
  },
  "kubernetes-validate": {
    python: "kubernetes-validate==1.37.0",
    module: "kubernetes_validate",
    binary: "bin/run",
  },
  // A server that speaks the protocol of S3 and checks signatures.
  "moto-server": {
    python: ["moto[s3]==5.2.5", "flask==3.1.3", "flask-cors==6.0.5"],
    module: "moto.server",
    binary: "bin/run",
    probe: "--help",
  },
  // For the benchmarks. The program is a link into the package redis-tools.
  "redis-server": { packages: ["redis-server", "redis-tools"], binary: "usr/bin/redis-server" },
  schemathesis: { python: "schemathesis==4.32.5", module: "schemathesis.cli", binary: "bin/run" },
};

/**
 * Finds a program, and downloads it first if necessary. Returns { path, env, version }; the program must be run with
 * that environment. If the program is not available, prints a warning and returns undefined. With
 * JOBFORGE_REQUIRE_TOOLS=1, as in CI, throws an error instead.
 */
export async function findTool(name) {
  const tool = tools[name];
  if (tool === undefined) throw new Error(`unknown tool: ${name}`);
  const reasons = [];
  for (const find of [onPath, inCache, fetchTool]) {
    try {
      const found = await find(name, tool);
      if (found !== undefined) return found;
    } catch (error) {
      reasons.push(
        String(error.stderr || error.message)
          .trim()
          .replaceAll("\n", " "),
      );
    }
  }
  const source = tool.python === undefined ? "apt-get" : "Python";
  const message = `${name} is not installed and could not be downloaded with ${source} (${reasons.join("; ")})`;
  if (process.env.JOBFORGE_REQUIRE_TOOLS === "1") throw new Error(message);
  console.warn(`!! SKIPPED: tests that need ${name}. ${message}`);
}

async function onPath(name, tool) {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/usr/local/sbin"];
  const paths = [name, ...(tool.installed ?? [])].flatMap((each) =>
    folders.filter((folder) => folder !== "").map((folder) => join(folder, each)),
  );
  let failure;
  for (const path of paths.filter((each) => existsSync(each))) {
    try {
      return await probe(path, process.env, tool);
    } catch (error) {
      // Another one may work: the name may be that of a script that only says how to install the program.
      failure ??= error;
    }
  }
  if (failure !== undefined) throw failure;
}

async function inCache(name, tool) {
  const folder = folderOf(name);
  if (!existsSync(folder)) return undefined;
  // A program may stop working when the system changes, for example a library. Then it is downloaded again.
  return await probeUnpacked(folder, tool).catch(() => rm(folder, { recursive: true, force: true }));
}

/** One folder per system, because several systems may see the same checkout, such as a laptop and a container. */
function folderOf(name) {
  return join(cache, `${name}-${process.platform}-${process.arch}`);
}

/** Unpacks into a temporary folder and renames it, so that several test processes may do the same at the same time. */
async function fetchTool(name, tool) {
  if (tool.python === undefined && process.platform !== "linux") return undefined;
  await mkdir(cache, { recursive: true });
  await writeFile(join(cache, ".gitignore"), "*\n");
  const work = await mkdtemp(join(cache, `${name}-`));
  try {
    const folder = join(work, "root");
    if (tool.python === undefined) await unpackDebian(tool, work, folder);
    else await unpackPython(tool, work, folder);
    await probeUnpacked(folder, tool);
    await rename(folder, folderOf(name)).catch((error) => {
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
    return await probeUnpacked(folderOf(name), tool);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function unpackDebian(tool, work, folder) {
  await download(tool.packages, work);
  for (const file of await readdir(work)) {
    if (file.endsWith(".deb")) await run("dpkg", ["-x", join(work, file), folder]);
  }
}

/** A virtual environment cannot be moved, so it only runs pip. The packages that pip installs can be moved. */
async function unpackPython(tool, work, folder) {
  const environment = join(work, "environment");
  await run("python3", ["-m", "venv", environment], { timeout: 120_000 });
  const pip = [
    "-m",
    "pip",
    "install",
    "--quiet",
    "--disable-pip-version-check",
    "--target",
    folder,
    ...[tool.python].flat(),
  ];
  await run(join(environment, "bin/python"), pip, { timeout: 300_000, maxBuffer: 2 ** 26 });
  await mkdir(join(folder, "bin"), { recursive: true });
  const start = `#!/bin/sh\nPYTHONPATH="$(dirname "$0")/.." exec python3 -m ${tool.module} "$@"\n`;
  await writeFile(join(folder, tool.binary), start, { mode: 0o755 });
}

/** Downloads packages, and those of their dependencies that are missing on this system. */
async function download(packages, folder) {
  try {
    await downloadWith([], packages, folder);
  } catch {
    // The system's package lists are missing or out of date. Lists of our own need no permission to change the
    // system's.
    const own = [
      "-o",
      `Dir::State::lists=${join(folder, "lists")}`,
      "-o",
      `Dir::Cache=${join(folder, "cache")}`,
    ];
    await mkdir(join(folder, "lists/partial"), { recursive: true });
    await mkdir(join(folder, "cache/archives/partial"), { recursive: true });
    // Continue if one package source does not respond: another may have the packages.
    await apt([...own, "update"], folder).catch(() => undefined);
    await downloadWith(own, packages, folder);
  }
}

async function downloadWith(options, packages, folder) {
  const { stdout } = await apt(
    [...options, "--simulate", "--no-install-recommends", "install", ...packages],
    folder,
  );
  const missing = [...stdout.matchAll(/^Inst (\S+)/gm)].map((match) => match[1]);
  // The named packages are downloaded even if they are installed, because their program was not found.
  await apt([...options, "download", ...new Set([...packages, ...missing])], folder);
}

function apt(args, cwd) {
  const patience = [
    "-o",
    "Acquire::Retries=1",
    "-o",
    "Acquire::http::Timeout=20",
    "-o",
    "Debug::NoLocking=1",
  ];
  const env = { ...process.env, LC_ALL: "C" };
  return run("apt-get", [...patience, ...args], { cwd, env, timeout: 180_000, maxBuffer: 2 ** 26 });
}

/** Probes the program in a folder of unpacked packages, which also contain its libraries. */
async function probeUnpacked(folder, tool) {
  const libraries = [];
  for (const base of [join(folder, "usr/lib"), join(folder, "lib")]) {
    if (!existsSync(base)) continue;
    const triplets = (await readdir(base)).filter((name) => name.endsWith("-linux-gnu"));
    const folders = triplets.flatMap((name) =>
      ["", ...(tool.libraries ?? [])].map((own) => join(base, name, own)),
    );
    libraries.push(...folders, base);
  }
  const env = { ...process.env };
  if (libraries.length > 0) {
    env.LD_LIBRARY_PATH = [...libraries, env.LD_LIBRARY_PATH].filter(Boolean).join(delimiter);
  }
  return await probe(join(folder, tool.binary), env, tool);
}

/** Runs a program with `--version`, which fails if the program does not work, and returns how to run it. */
async function probe(path, env, tool) {
  const { stdout } = await run(path, [tool.probe ?? "--version"], { env, timeout: 60_000 });
  return { path, env, version: /\d+(\.\d+)+/.exec(stdout)?.[0] ?? "" };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const name of process.argv.slice(2)) console.log((await findTool(name))?.path ?? `${name}: not found`);
}
