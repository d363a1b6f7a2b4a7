// node-rdkafka. The arguments are those of scenario.py.
const Kafka = require("node-rdkafka");
const { promisify } = require("node:util");

const [verb, servers, topic, ...rest] = process.argv.slice(2);
const TIMEOUT_MS = 60_000;

async function create() {
  const admin = Kafka.AdminClient.create({ "metadata.broker.list": servers });
  await promisify((done) => admin.createTopic({ topic, num_partitions: 3, replication_factor: 1 }, done))();
  admin.disconnect();
}

async function connected(producer) {
  producer.setPollInterval(20);
  await promisify((done) => producer.connect({}, done))();
  return producer;
}

async function produce(...values) {
  const producer = await connected(new Kafka.Producer({ "metadata.broker.list": servers, dr_cb: true }));
  for (const value of values) producer.produce(topic, null, Buffer.from(value), value);
  await promisify((done) => producer.flush(TIMEOUT_MS, done))();
  await promisify((done) => producer.disconnect(done))();
}

async function consume(group, count) {
  const settings = { "metadata.broker.list": servers, "group.id": group };
  const consumer = new Kafka.KafkaConsumer(settings, { "auto.offset.reset": "earliest" });
  await promisify((done) => consumer.connect({}, done))();
  consumer.subscribe([topic]);
  for (let left = Number(count); left > 0; ) {
    const messages = await promisify((done) => consumer.consume(left, done))();
    for (const message of messages) console.log(`read ${message.value}`);
    left -= messages.length;
  }
  consumer.commitSync();
  await promisify((done) => consumer.disconnect(done))();
}

async function transact(kept, dropped) {
  const settings = { "metadata.broker.list": servers, "transactional.id": `${topic}-writer`, dr_cb: true };
  const producer = await connected(new Kafka.Producer(settings));
  await promisify((done) => producer.initTransactions(TIMEOUT_MS, done))();
  await promisify((done) => producer.beginTransaction(done))();
  producer.produce(topic, null, Buffer.from(kept));
  await promisify((done) => producer.commitTransaction(TIMEOUT_MS, done))();
  await promisify((done) => producer.beginTransaction(done))();
  producer.produce(topic, null, Buffer.from(dropped));
  await promisify((done) => producer.flush(TIMEOUT_MS, done))();
  await promisify((done) => producer.abortTransaction(TIMEOUT_MS, done))();
  await promisify((done) => producer.disconnect(done))();
}

({ create, produce, consume, transact })[verb](...rest).catch((error) => {
  console.error(error);
  process.exit(1);
});
