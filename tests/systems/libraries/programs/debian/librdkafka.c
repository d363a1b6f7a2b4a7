/* librdkafka. The arguments are those of scenario.py. */
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 60000

static void fail(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void set(rd_kafka_conf_t *conf, const char *key, const char *value) {
    char error[512];
    if (rd_kafka_conf_set(conf, key, value, error, sizeof error) != RD_KAFKA_CONF_OK) fail(key, error);
}

static rd_kafka_t *client(rd_kafka_type_t type, rd_kafka_conf_t *conf) {
    char error[512];
    rd_kafka_t *made = rd_kafka_new(type, conf, error, sizeof error);
    if (!made) fail("rd_kafka_new", error);
    return made;
}

static void must(rd_kafka_error_t *error) {
    if (error) fail("transaction", rd_kafka_error_string(error));
}

static void delivered(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque) {
    if (message->err) fail("delivery", rd_kafka_err2str(message->err));
}

static rd_kafka_t *producer(const char *servers, const char *transactional_id) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", servers);
    if (transactional_id) set(conf, "transactional.id", transactional_id);
    rd_kafka_conf_set_dr_msg_cb(conf, delivered);
    return client(RD_KAFKA_PRODUCER, conf);
}

static void send_value(rd_kafka_t *rk, const char *topic, const char *value) {
    rd_kafka_resp_err_t error = rd_kafka_producev(
        rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_KEY(value, strlen(value)),
        RD_KAFKA_V_VALUE((void *)value, strlen(value)), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
    if (error) fail("produce", rd_kafka_err2str(error));
}

static void produce(const char *servers, const char *topic, int count, char **values) {
    rd_kafka_t *rk = producer(servers, NULL);
    for (int i = 0; i < count; i++) send_value(rk, topic, values[i]);
    if (rd_kafka_flush(rk, TIMEOUT_MS)) fail("flush", "timed out");
    rd_kafka_destroy(rk);
}

static void consume(const char *servers, const char *topic, const char *group, int count) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", servers);
    set(conf, "group.id", group);
    set(conf, "auto.offset.reset", "earliest");
    rd_kafka_t *rk = client(RD_KAFKA_CONSUMER, conf);
    rd_kafka_poll_set_consumer(rk);
    rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(topics, topic, RD_KAFKA_PARTITION_UA);
    rd_kafka_subscribe(rk, topics);
    while (count > 0) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(rk, TIMEOUT_MS);
        if (!message) fail("poll", "timed out");
        if (message->err) fail("poll", rd_kafka_message_errstr(message));
        printf("read %.*s\n", (int)message->len, (char *)message->payload);
        rd_kafka_message_destroy(message);
        count--;
    }
    if (rd_kafka_commit(rk, NULL, 0)) fail("commit", "failed");
    rd_kafka_consumer_close(rk);
    rd_kafka_topic_partition_list_destroy(topics);
    rd_kafka_destroy(rk);
}

static void transact(const char *servers, const char *topic, const char *kept, const char *dropped) {
    rd_kafka_t *rk = producer(servers, "scenario-writer");
    must(rd_kafka_init_transactions(rk, TIMEOUT_MS));
    must(rd_kafka_begin_transaction(rk));
    send_value(rk, topic, kept);
    must(rd_kafka_commit_transaction(rk, TIMEOUT_MS));
    must(rd_kafka_begin_transaction(rk));
    send_value(rk, topic, dropped);
    rd_kafka_flush(rk, TIMEOUT_MS);
    must(rd_kafka_abort_transaction(rk, TIMEOUT_MS));
    rd_kafka_destroy(rk);
}

int main(int argc, char **argv) {
    const char *verb = argv[1], *servers = argv[2], *topic = argv[3];
    if (!strcmp(verb, "produce")) produce(servers, topic, argc - 4, argv + 4);
    else if (!strcmp(verb, "consume")) consume(servers, topic, argv[4], atoi(argv[5]));
    else if (!strcmp(verb, "transact")) transact(servers, topic, argv[4], argv[5]);
    else fail("unknown", verb);
    return 0;
}
