/**
 * Releases all packages with one version. `node scripts/release.js 0.2.0` is a rehearsal: it checks everything, packs
 * every package with `npm publish --dry-run`, and changes nothing. With `--publish` it commits, tags and publishes.
 * CONTRIBUTING.md, under Releasing, says what to do before and after. Plain JavaScript without dependencies.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { publishedPackages } from "./packages.js";
import { root } from "./prepare.js";

const usage =
  "Usage: node scripts/release.js VERSION [--skip-tests] [--publish [--no-provenance]]\n" +
  "Without --publish nothing is changed. --skip-tests is only for a rehearsal.";

/** A reason not to release, for people. */
class Refusal extends Error {}

try {
  release(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  console.error(`✗ ${error.message}`);
  process.exitCode = 1;
}

function release(args) {
  const { version, publish, provenance, skipTests } = readArguments(args);
  const packages = inOrder(publishedPackages());
  checkVersion(version, packages);
  checkTree(version);
  const changelog = releasedChangelog(readText("CHANGELOG.md"), version);
  if (publish && provenance) checkProvenance(packages);
  if (!skipTests) step("Testing", () => run("npm", ["test"], "inherit"));
  try {
    step(`Writing version ${version} into ${packages.length} packages`, () => {
      writeVersions(packages, version);
      writeFileSync(join(root, "CHANGELOG.md"), changelog);
    });
    step("Building", () => run("npm", ["run", "--silent", "build"]));
    for (const one of packages)
      step(`Packing ${one.manifest.name}`, () => npmPublish(one, ["--dry-run", "--fetch-retries=0"]));
    if (publish) publishAll(packages, version, provenance);
  } finally {
    // After a release everything is committed. After a rehearsal or a failure the tree is as it was, and the next
    // `npm start` or `npm test` builds again, because the build contains the version.
    run("git", ["checkout", "--quiet", "--", "."]);
    rmSync(join(root, "node_modules/.jobforge-built"), { force: true });
  }
  console.log(
    publish ? `✓ Released ${version}. Now: git push --follow-tags` : `✓ ${version} can be released.`,
  );
}

function readArguments(args) {
  const options = args.filter((arg) => arg.startsWith("--"));
  const [version, ...more] = args.filter((arg) => !arg.startsWith("--"));
  const unknown = options.find(
    (option) => !["--publish", "--no-provenance", "--skip-tests"].includes(option),
  );
  if (version === undefined || more.length > 0 || unknown !== undefined) throw new Refusal(usage);
  const publish = options.includes("--publish");
  const skipTests = options.includes("--skip-tests");
  if (publish && skipTests) throw new Refusal("A release is always tested: leave out --skip-tests.");
  return { version, publish, provenance: !options.includes("--no-provenance"), skipTests };
}

/** A package comes after the packages it depends on, so that every published package can be installed. */
function inOrder(packages) {
  const ordered = [];
  const add = (one) => {
    if (ordered.includes(one)) return;
    const needed = { ...one.manifest.dependencies, ...one.manifest.peerDependencies };
    for (const other of packages) if (other.manifest.name in needed) add(other);
    ordered.push(one);
  };
  for (const one of packages) add(one);
  return ordered;
}

function checkVersion(version, packages) {
  if (!/^\d+\.\d+\.\d+(-[0-9a-z.-]+)?$/.test(version))
    throw new Refusal(`${version} is not a valid version: it must look like 1.2.3 or 1.2.3-beta.1.`);
  for (const { manifest } of packages)
    if (isNewer(manifest.version, version))
      throw new Refusal(`${manifest.name} already has version ${manifest.version}, which is newer.`);
}

/** Compares the three numbers. A pre-release of the present version is left to npm, which refuses to repeat one. */
function isNewer(one, other) {
  const [a, b] = [one, other].map((version) => version.split("-")[0].split(".").map(Number));
  const differing = a.findIndex((part, index) => part !== b[index]);
  return differing >= 0 && a[differing] > b[differing];
}

function checkTree(version) {
  const changes = run("git", ["status", "--porcelain"]);
  if (changes !== "") throw new Refusal(`The tree has changes that are not committed:\n${changes}`);
  if (run("git", ["tag", "--list", `v${version}`]) !== "") throw new Refusal(`The tag v${version} exists.`);
}

/** The changelog with today's date in the heading of the version. Its section must exist and say something. */
function releasedChangelog(text, version) {
  const heading = `## ${version} (unreleased)`;
  const [before, after] = text.split(`${heading}\n`);
  const section = after?.split(/^## /m)[0];
  if (section === undefined || !/^- \[/m.test(section))
    throw new Refusal(`CHANGELOG.md needs a section "${heading}" with an entry.`);
  return `${before}## ${version} (${new Date().toISOString().slice(0, 10)})\n${after}`;
}

/** npm attests a build only in CI, and only if package.json names the repository that the CI runs for. */
function checkProvenance(packages) {
  const missing = packages.filter(({ manifest }) => manifest.repository === undefined);
  if (missing.length > 0)
    throw new Refusal(
      `npm needs "repository" in package.json for provenance; it is missing in ${missing.length} packages. ` +
        "Add it, or pass --no-provenance.",
    );
  if (process.env.CI === undefined)
    throw new Refusal("npm attests provenance only in CI. Run the release there, or pass --no-provenance.");
}

/** Writes the version into all manifests and the lock file. Packages depend on each other in this version or newer. */
function writeVersions(packages, version) {
  const names = new Set(packages.map(({ manifest }) => manifest.name));
  const lock = JSON.parse(readText("package-lock.json"));
  const update = (manifest) => {
    manifest.version = version;
    for (const kind of ["dependencies", "peerDependencies"])
      for (const name of Object.keys(manifest[kind] ?? {}))
        if (names.has(name)) manifest[kind][name] = `^${version}`;
  };
  for (const { folder, manifest } of packages) {
    update(manifest);
    update(lock.packages[folder]);
    writeJson(`${folder}/package.json`, manifest);
  }
  const own = JSON.parse(readText("package.json"));
  own.version = lock.version = lock.packages[""].version = version;
  writeJson("package.json", own);
  writeJson("package-lock.json", lock);
}

function publishAll(packages, version, provenance) {
  run("git", ["commit", "--quiet", "--all", "--message", `Release ${version}`]);
  run("git", ["tag", "--annotate", `v${version}`, "--message", `JobForge ${version}`]);
  const options = provenance ? ["--provenance"] : [];
  for (const one of packages) step(`Publishing ${one.manifest.name}`, () => npmPublish(one, options));
}

/** A pre-release gets its own tag, so that `npm install jobforge` stays on the last release. */
function npmPublish({ folder, manifest }, options) {
  const tag = manifest.version.includes("-") ? "next" : "latest";
  run("npm", ["publish", `./${folder}`, "--access", "public", "--tag", tag, "--ignore-scripts", ...options]);
}

function step(title, work) {
  console.log(`• ${title} …`);
  work();
}

function readText(path) {
  return readFileSync(join(root, path), "utf8");
}

function writeJson(path, value) {
  writeFileSync(join(root, path), `${JSON.stringify(value, null, 2)}\n`);
}

/** Returns the output. A command that fails is a reason not to release. */
function run(command, args, stdio = "pipe") {
  const shell = process.platform === "win32";
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: "utf8", stdio, shell });
  if (status !== 0)
    throw new Refusal(`${command} ${args.join(" ")} failed. ${stdout ?? ""}${stderr ?? ""}`.trim());
  return (stdout ?? "").trim();
}
