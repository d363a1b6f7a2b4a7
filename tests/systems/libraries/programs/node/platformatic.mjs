// @platformatic/kafka. The arguments are those of scenario.py.
import { Admin, Consumer, Producer, stringDeserializers, stringSerializers } from "@platformatic/kafka";

const [verb, servers, topic, ...rest] = process.argv.slice(2);
const client = { clientId: "scenario", bootstrapBrokers: [servers] };

async function create() {
  const admin = new Admin(client);
  await admin.createTopics({ topics: [topic], partitions: 3, replicas: 1 });
  await admin.close();
}

async function produce(...values) {
  const producer = new Producer({ ...client, serializers: stringSerializers });
  await producer.send({ messages: values.map((value) => ({ topic, key: value, value })) });
  await producer.close();
}

async function consume(groupId, count) {
  const consumer = new Consumer({ ...client, groupId, deserializers: stringDeserializers });
  const stream = await consumer.consume({
    topics: [topic], mode: "committed", fallbackMode: "earliest", autocommit: false,
  });
  let left = Number(count);
  for await (const message of stream) {
    console.log(`read ${message.value}`);
    await message.commit();
    left -= 1;
    if (left === 0) break;
  }
  await consumer.close(true);
}

async function transact(kept, dropped) {
  const settings = { idempotent: true, transactionalId: `${topic}-writer`, serializers: stringSerializers };
  const producer = new Producer({ ...client, ...settings });
  const committed = await producer.beginTransaction();
  await committed.send({ messages: [{ topic, value: kept }] });
  await committed.commit();
  const aborted = await producer.beginTransaction();
  await aborted.send({ messages: [{ topic, value: dropped }] });
  await aborted.abort();
  await producer.close();
}

await { create, produce, consume, transact }[verb](...rest);
