// KafkaJS. The arguments are those of scenario.py.
const { Kafka, logLevel } = require("kafkajs");

const [verb, servers, topic, ...rest] = process.argv.slice(2);
const kafka = new Kafka({ brokers: [servers], logLevel: logLevel.ERROR });

async function create() {
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic, numPartitions: 3, replicationFactor: 1 }] });
  await admin.disconnect();
}

async function produce(...values) {
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic, messages: values.map((value) => ({ key: value, value })) });
  await producer.disconnect();
}

async function consume(groupId, count) {
  const consumer = kafka.consumer({ groupId });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  let left = Number(count);
  await new Promise((resolve) => {
    consumer.run({
      eachMessage: async ({ message }) => {
        console.log(`read ${message.value}`);
        left -= 1;
        if (left === 0) resolve();
      },
    });
  });
  await consumer.disconnect();
}

async function transact(kept, dropped) {
  const producer = kafka.producer({ transactionalId: `${topic}-writer`, idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  const committed = await producer.transaction();
  await committed.send({ topic, messages: [{ value: kept }] });
  await committed.commit();
  const aborted = await producer.transaction();
  await aborted.send({ topic, messages: [{ value: dropped }] });
  await aborted.abort();
  await producer.disconnect();
}

({ create, produce, consume, transact })[verb](...rest).catch((error) => {
  console.error(error);
  process.exit(1);
});
