module.exports = {
  testEnvironment: "node",
  testMatch: ["**/*.jest.cjs"],
  moduleFileExtensions: ["js", "cjs", "json"],
};
