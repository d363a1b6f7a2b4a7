//! rust-rdkafka. The arguments are those of scenario.py.
use std::env::args;
use std::time::Duration;

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{CommitMode, Consumer, StreamConsumer};
use rdkafka::message::Message;
use rdkafka::producer::{FutureProducer, FutureRecord, Producer};

const TIMEOUT: Duration = Duration::from_secs(60);

async fn create(servers: &str, topic: &str) {
    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", servers).create().unwrap();
    let wanted = NewTopic::new(topic, 3, TopicReplication::Fixed(1));
    let results = admin.create_topics(&[wanted], &AdminOptions::new()).await.unwrap();
    results[0].as_ref().unwrap();
}

async fn send(producer: &FutureProducer, topic: &str, value: &str) {
    let record = FutureRecord::to(topic).key(value).payload(value);
    producer.send(record, TIMEOUT).await.unwrap();
}

async fn produce(servers: &str, topic: &str, values: &[String]) {
    let producer: FutureProducer = ClientConfig::new().set("bootstrap.servers", servers).create().unwrap();
    for value in values {
        send(&producer, topic, value).await;
    }
}

async fn consume(servers: &str, topic: &str, group: &str, count: usize) {
    let consumer: StreamConsumer = ClientConfig::new()
        .set("bootstrap.servers", servers)
        .set("group.id", group)
        .set("auto.offset.reset", "earliest")
        .create()
        .unwrap();
    consumer.subscribe(&[topic]).unwrap();
    for _ in 0..count {
        let message = consumer.recv().await.unwrap();
        println!("read {}", message.payload_view::<str>().unwrap().unwrap());
    }
    consumer.commit_consumer_state(CommitMode::Sync).unwrap();
}

async fn transact(servers: &str, topic: &str, kept: &str, dropped: &str) {
    let producer: FutureProducer = ClientConfig::new()
        .set("bootstrap.servers", servers)
        .set("transactional.id", format!("{topic}-writer"))
        .create()
        .unwrap();
    producer.init_transactions(TIMEOUT).unwrap();
    producer.begin_transaction().unwrap();
    send(&producer, topic, kept).await;
    producer.commit_transaction(TIMEOUT).unwrap();
    producer.begin_transaction().unwrap();
    send(&producer, topic, dropped).await;
    producer.abort_transaction(TIMEOUT).unwrap();
}

#[tokio::main]
async fn main() {
    let given: Vec<String> = args().collect();
    let (servers, topic, rest) = (&given[2], &given[3], &given[4..]);
    match given[1].as_str() {
        "create" => create(servers, topic).await,
        "produce" => produce(servers, topic, rest).await,
        "consume" => consume(servers, topic, &rest[0], rest[1].parse().unwrap()).await,
        "transact" => transact(servers, topic, &rest[0], &rest[1]).await,
        verb => panic!("{verb}"),
    }
}
