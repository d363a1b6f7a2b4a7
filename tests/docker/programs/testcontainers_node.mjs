// Starts Kafka with Testcontainers' module for Node, writes a record from this machine, and prints what it reads.
// Arguments: `zookeeper` or `kraft`; then, for a listener with TLS and SCRAM: the key store's file, its password, and
// the file with the authority's certificate.

import fs from "node:fs";

import { KafkaContainer } from "@testcontainers/kafka";
import { Kafka } from "kafkajs";

const SECURE_PORT = 9096;
const [mode, keyStore, passphrase, authority] = process.argv.slice(2);
const user = { name: "alice", password: "alice-secret" };

const container = new KafkaContainer("confluentinc/cp-kafka:7.9.1");
if (mode === "kraft") container.withKraft();
const settings = {};
if (keyStore !== undefined) {
  container.withSaslSslListener({
    port: SECURE_PORT,
    sasl: { mechanism: "SCRAM-SHA-512", user },
    keystore: { content: fs.readFileSync(keyStore), passphrase },
  });
  settings.ssl = { ca: [fs.readFileSync(authority, "utf-8")] };
  settings.sasl = { mechanism: "scram-sha-512", username: user.name, password: user.password };
}
const started = await container.start();
const port = started.getMappedPort(keyStore === undefined ? 9093 : SECURE_PORT);
// The module returns before the broker serves, and leaves it to the client to try again.
const retry = { retries: 60, maxRetryTime: 1000 };
const kafka = new Kafka({ brokers: [`${started.getHost()}:${port}`], retry, ...settings });

const producer = kafka.producer();
await producer.connect();
await producer.send({ topic: "orders", messages: [{ value: "from a module" }] });
await producer.disconnect();

const consumer = kafka.consumer({ groupId: "g" });
await consumer.connect();
await consumer.subscribe({ topic: "orders", fromBeginning: true });
const value = await new Promise((resolve, reject) => {
  consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
  consumer.run({ eachMessage: async ({ message }) => resolve(message.value.toString()) });
});
await consumer.disconnect();
await started.stop();
console.log(value);
