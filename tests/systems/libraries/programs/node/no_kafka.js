// no-kafka. The arguments are those of scenario.py.
const Kafka = require("no-kafka");

const [verb, servers, topic, ...rest] = process.argv.slice(2);

async function produce(...values) {
  const producer = new Kafka.Producer({ connectionString: servers });
  await producer.init();
  const results = await producer.send(values.map((value, at) => ({ topic, partition: at % 3, message: { value } })));
  const failed = results.filter((result) => result.error);
  if (failed.length) throw failed[0].error;
  await producer.end();
}

async function consume(groupId, count) {
  const settings = { connectionString: servers, groupId, startingOffset: Kafka.EARLIEST_OFFSET };
  const consumer = new Kafka.GroupConsumer(settings);
  let left = Number(count);
  await new Promise((resolve, reject) => {
    const handler = async (messages, name, partition) => {
      for (const { offset, message } of messages) {
        console.log(`read ${message.value}`);
        await consumer.commitOffset({ topic: name, partition, offset });
        left -= 1;
      }
      if (left <= 0) resolve();
    };
    consumer.init([{ subscriptions: [topic], handler }]).catch(reject);
  });
  await consumer.end();
}

({ produce, consume })[verb](...rest).then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
