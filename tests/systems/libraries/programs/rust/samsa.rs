//! samsa: its producer, and its consumer of given partitions. The arguments are those of scenario.py.
use std::collections::HashMap;
use std::env::args;

use futures::stream::iter;
use samsa::prelude::{
    bytes::Bytes, create_topics, BrokerAddress, BrokerConnection, ConsumerBuilder, ProduceMessage, ProducerBuilder,
    TcpConnection, TopicPartitionsBuilder,
};
use tokio_stream::StreamExt;

fn addresses(servers: &str) -> Vec<BrokerAddress> {
    let (host, port) = servers.split_once(':').unwrap();
    vec![BrokerAddress { host: host.to_owned(), port: port.parse().unwrap() }]
}

async fn create(servers: &str, topic: &str) {
    let connection = TcpConnection::new(addresses(servers)).await.unwrap();
    create_topics(connection, 1, "scenario", HashMap::from([(topic, 3)])).await.unwrap();
}

async fn produce(servers: &str, topic: &str, values: &[String]) {
    let messages: Vec<ProduceMessage> = values
        .iter()
        .enumerate()
        .map(|(at, value)| ProduceMessage {
            topic: topic.to_owned(),
            partition_id: at as i32 % 3,
            key: Some(Bytes::from(value.clone())),
            value: Some(Bytes::from(value.clone())),
            headers: vec![],
        })
        .collect();
    let sent = ProducerBuilder::<TcpConnection>::new(addresses(servers), vec![topic.to_owned()])
        .await
        .unwrap()
        .required_acks(1)
        .clone()
        .build_from_stream(iter(vec![messages]))
        .await;
    tokio::pin!(sent);
    while let Some(answers) = sent.next().await {
        for answer in answers {
            answer.unwrap();
        }
    }
}

async fn read(servers: &str, topic: &str, count: usize) {
    let wanted = TopicPartitionsBuilder::new().assign(topic.to_owned(), vec![0, 1, 2]).build();
    let stream = ConsumerBuilder::<TcpConnection>::new(addresses(servers), wanted).await.unwrap().build().into_stream();
    tokio::pin!(stream);
    let mut left = count;
    while left > 0 {
        for message in stream.next().await.unwrap().unwrap() {
            println!("read {}", String::from_utf8_lossy(&message.value));
            left -= 1;
        }
    }
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
