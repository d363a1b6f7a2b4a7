// kafka-node. The arguments are those of scenario.py.
const kafka = require("kafka-node");
const { promisify } = require("node:util");

const [verb, servers, topic, ...rest] = process.argv.slice(2);

async function create() {
  const client = new kafka.KafkaClient({ kafkaHost: servers });
  await promisify((done) => client.on("ready", done))();
  const admin = new kafka.Admin(client);
  await promisify((done) => admin.createTopics([{ topic, partitions: 3, replicationFactor: 1 }], done))();
  client.close();
}

async function produce(...values) {
  const client = new kafka.KafkaClient({ kafkaHost: servers });
  const producer = new kafka.Producer(client);
  await promisify((done) => producer.on("ready", done))();
  await promisify((done) => producer.send([{ topic, messages: values }], done))();
  client.close();
}

async function consume(groupId, count) {
  const settings = { kafkaHost: servers, groupId, fromOffset: "earliest", protocol: ["roundrobin"], autoCommit: false };
  const consumer = new kafka.ConsumerGroup(settings, topic);
  let left = Number(count);
  await new Promise((resolve, reject) => {
    consumer.on("error", reject);
    consumer.on("message", (message) => {
      console.log(`read ${message.value}`);
      left -= 1;
      if (left === 0) resolve();
    });
  });
  await promisify((done) => consumer.commit(true, done))();
  await promisify((done) => consumer.close(false, done))();
}

({ create, produce, consume })[verb](...rest).then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
