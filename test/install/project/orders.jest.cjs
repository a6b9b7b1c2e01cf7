const { defineJob, JobForge, NotInstalledError } = require("jobforge");
const { assertEnqueued, cloneDatabase, drain, startTestServer } = require("jobforge/testing");

const tenantId = "11111111-1111-4111-8111-111111111111";
const receipt = defineJob({ type: "mail.receipt" });
let server;

beforeAll(async () => {
  server = await startTestServer({
    url: process.env.SERVER_URL,
    prepare: (client) => client.query("create table orders (id int primary key, receipt text)"),
  });
}, 60_000);

afterAll(() => server.stop());

test("an order gets its receipt", async () => {
  const db = await cloneDatabase(server);
  const forge = new JobForge({ database: db.url });
  await db.query("insert into orders values (42)");
  await forge.enqueue(receipt, { order: 42 }, { tenantId });
  await assertEnqueued(forge, { job: receipt, payload: { order: 42 } });
  await expect(assertEnqueued(forge, { job: receipt, payload: { order: 43 } })).rejects.toThrow("found 0");
  const send = receipt.handle(async ({ order }) => {
    await db.query("update orders set receipt = 'sent' where id = $1", [order]);
  });
  expect(await drain(forge, [send])).toMatchObject({ succeeded: 1 });
  expect(await db.value("select receipt from orders")).toBe("sent");
  await forge.close();
  await db.drop();
}, 60_000);

test("errors are instances of their classes", async () => {
  const db = await cloneDatabase({ ...server, template: "template0" });
  const forge = new JobForge({ database: db.url });
  await expect(forge.enqueue(receipt, {}, { tenantId })).rejects.toBeInstanceOf(NotInstalledError);
  await forge.close();
  await db.drop();
}, 60_000);

test("a server without a url needs the embedded Postgres, and says how to get it", async () => {
  await expect(startTestServer()).rejects.toThrow("Install the package @jobforge/embedded");
});
