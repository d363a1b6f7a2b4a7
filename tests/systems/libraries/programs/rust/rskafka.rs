//! rskafka, which has no groups. The arguments are those of scenario.py.
use std::collections::BTreeMap;
use std::env::args;

use rskafka::client::partition::{Compression, PartitionClient, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder};
use rskafka::record::Record;

async fn client(servers: &str) -> Client {
    ClientBuilder::new(vec![servers.to_owned()]).build().await.unwrap()
}

async fn partition(servers: &str, topic: &str, index: i32) -> PartitionClient {
    client(servers).await.partition_client(topic, index, UnknownTopicHandling::Retry).await.unwrap()
}

async fn create(servers: &str, topic: &str) {
    let controller = client(servers).await.controller_client().unwrap();
    controller.create_topic(topic, 3, 1, 60_000).await.unwrap();
}

async fn produce(servers: &str, topic: &str, values: &[String]) {
    for (at, value) in values.iter().enumerate() {
        let record = Record {
            key: Some(value.clone().into_bytes()),
            value: Some(value.clone().into_bytes()),
            headers: BTreeMap::new(),
            timestamp: chrono::Utc::now(),
        };
        let leader = partition(servers, topic, at as i32 % 3).await;
        leader.produce(vec![record], Compression::NoCompression).await.unwrap();
    }
}

async fn read(servers: &str, topic: &str, count: usize) {
    let mut left = count;
    for index in 0..3 {
        let leader = partition(servers, topic, index).await;
        let end = leader.get_offset(rskafka::client::partition::OffsetAt::Latest).await.unwrap();
        let mut next = 0;
        while next < end {
            let (records, _) = leader.fetch_records(next, 1..1_000_000, 1_000).await.unwrap();
            for one in records {
                println!("read {}", String::from_utf8(one.record.value.unwrap()).unwrap());
                next = one.offset + 1;
                left -= 1;
            }
        }
    }
    assert_eq!(left, 0);
}

#[tokio::main]
async fn main() {
    let given: Vec<String> = args().collect();
    let (servers, topic, rest) = (&given[2], &given[3], &given[4..]);
    match given[1].as_str() {
        "create" => create(servers, topic).await,
        "produce" => produce(servers, topic, rest).await,
        "read" => read(servers, topic, rest[0].parse().unwrap()).await,
        verb => panic!("{verb}"),
    }
}
