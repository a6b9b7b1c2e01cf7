// Writes what the packages for TypeScript export, as JSON: the members of each interface and class, and the options of
// each method of the client. Its test compares the Python package with it.
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const ts = createRequire(join(root, "package.json"))("typescript");
const entries = ["sdk-ts", "worker-ts"].map((name) => join(root, "packages", name, "src/index.ts"));
const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: undefined };
const { options } = ts.getParsedCommandLineOfConfigFile(join(root, "tsconfig.json"), {}, host);
const program = ts.createProgram(entries, options);
const checker = program.getTypeChecker();

const isOurs = ({ declarations = [], name }) =>
  !name.startsWith("#") &&
  !name.startsWith("__") &&
  declarations.some((each) => each.getSourceFile().fileName.includes("/packages/"));

/** The names of the members that we declare; of a union, those of each part. */
function membersOf(type) {
  const parts = type.isUnion() ? type.types : [type];
  return parts.flatMap((part) =>
    checker
      .getPropertiesOfType(part)
      .filter(isOurs)
      .map(({ name }) => name),
  );
}

/** The exports of an entry, by name. */
function exportsOf(entry) {
  const module = checker.getSymbolAtLocation(program.getSourceFile(entry));
  return checker.getExportsOfModule(module).map((symbol) => {
    const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0;
    return [symbol.name, isAlias ? checker.getAliasedSymbol(symbol) : symbol];
  });
}

/** The members of each parameter of each method. */
function methodsOf(type) {
  const methods = {};
  for (const member of checker.getPropertiesOfType(type).filter(isOurs)) {
    const signatures = checker.getTypeOfSymbol(member).getCallSignatures();
    if (signatures.length > 0) methods[member.name] = parametersOf(signatures);
  }
  return methods;
}

function parametersOf(signatures) {
  const parameters = {};
  for (const parameter of signatures.flatMap((signature) => signature.getParameters())) {
    const type = checker.getNonNullableType(checker.getTypeOfSymbol(parameter));
    const bound = type.isTypeParameter() ? checker.getBaseConstraintOfType(type) : type;
    const known = parameters[parameter.name] ?? [];
    parameters[parameter.name] = [...new Set([...known, ...(bound === undefined ? [] : membersOf(bound))])];
  }
  return parameters;
}

const classes = ts.SymbolFlags.Interface | ts.SymbolFlags.Class;
const all = new Map(entries.flatMap(exportsOf).filter(([, symbol]) => (symbol.flags & classes) !== 0));
const interfaces = {};
for (const [name, symbol] of all)
  interfaces[name] = [...new Set(membersOf(checker.getDeclaredTypeOfSymbol(symbol)))];

const client = checker.getDeclaredTypeOfSymbol(all.get("JobForge"));
const methods = { "": methodsOf(client) };
for (const group of checker.getPropertiesOfType(client).filter(isOurs)) {
  const type = checker.getTypeOfSymbol(group);
  if (group.name !== "transport" && type.isClassOrInterface()) methods[group.name] = methodsOf(type);
}
console.log(JSON.stringify({ interfaces, methods }));
