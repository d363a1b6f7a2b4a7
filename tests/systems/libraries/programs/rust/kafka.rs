//! The crate kafka (kafka-rust). The arguments are those of scenario.py.
use std::env::args;
use std::time::Duration;

use kafka::consumer::{Consumer, FetchOffset, GroupOffsetStorage};
use kafka::producer::{Producer, Record, RequiredAcks};

fn produce(servers: &str, topic: &str, values: &[String]) {
    let mut producer = Producer::from_hosts(vec![servers.to_owned()])
        .with_ack_timeout(Duration::from_secs(60))
        .with_required_acks(RequiredAcks::One)
        .create()
        .unwrap();
    for value in values {
        producer.send(&Record::from_key_value(topic, value.as_bytes(), value.as_bytes())).unwrap();
    }
}

fn consume(servers: &str, topic: &str, group: &str, count: usize) {
    let mut consumer = Consumer::from_hosts(vec![servers.to_owned()])
        .with_topic(topic.to_owned())
        .with_group(group.to_owned())
        .with_fallback_offset(FetchOffset::Earliest)
        .with_offset_storage(Some(GroupOffsetStorage::Kafka))
        .create()
        .unwrap();
    let mut left = count;
    while left > 0 {
        for set in consumer.poll().unwrap().iter() {
            for message in set.messages() {
                println!("read {}", String::from_utf8_lossy(message.value));
                left -= 1;
            }
            consumer.consume_messageset(set).unwrap();
        }
    }
    consumer.commit_consumed().unwrap();
}

fn main() {
    let given: Vec<String> = args().collect();
    let (servers, topic, rest) = (&given[2], &given[3], &given[4..]);
    match given[1].as_str() {
        "produce" => produce(servers, topic, rest),
        "consume" => consume(servers, topic, &rest[0], rest[1].parse().unwrap()),
        verb => panic!("{verb}"),
    }
}
