// The C++ interface of librdkafka. The arguments are those of scenario.py.
#include <librdkafka/rdkafkacpp.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

static const int TIMEOUT_MS = 60000;

static void must(RdKafka::ErrorCode code) {
    if (code != RdKafka::ERR_NO_ERROR) throw std::runtime_error(RdKafka::err2str(code));
}

static void must(RdKafka::Error *error) {
    if (error) throw std::runtime_error(error->str());
}

class Settings {
  public:
    explicit Settings(const std::string &servers) { set("bootstrap.servers", servers); }
    void set(const std::string &key, const std::string &value) {
        std::string error;
        if (conf->set(key, value, error) != RdKafka::Conf::CONF_OK) throw std::runtime_error(error);
    }
    std::unique_ptr<RdKafka::Conf> conf{RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL)};
};

static std::unique_ptr<RdKafka::Producer> producer(Settings &settings) {
    std::string error;
    std::unique_ptr<RdKafka::Producer> made(RdKafka::Producer::create(settings.conf.get(), error));
    if (!made) throw std::runtime_error(error);
    return made;
}

static void send(RdKafka::Producer &producer, const std::string &topic, const std::string &value) {
    must(producer.produce(topic, RdKafka::Topic::PARTITION_UA, RdKafka::Producer::RK_MSG_COPY,
                          const_cast<char *>(value.data()), value.size(), value.data(), value.size(), 0, nullptr));
}

static void produce(const std::string &servers, const std::string &topic, const std::vector<std::string> &values) {
    Settings settings(servers);
    auto made = producer(settings);
    for (const auto &value : values) send(*made, topic, value);
    must(made->flush(TIMEOUT_MS));
}

static void consume(const std::string &servers, const std::string &topic, const std::string &group, int count) {
    Settings settings(servers);
    settings.set("group.id", group);
    settings.set("auto.offset.reset", "earliest");
    std::string error;
    std::unique_ptr<RdKafka::KafkaConsumer> consumer(RdKafka::KafkaConsumer::create(settings.conf.get(), error));
    if (!consumer) throw std::runtime_error(error);
    must(consumer->subscribe({topic}));
    for (; count > 0; count--) {
        std::unique_ptr<RdKafka::Message> message(consumer->consume(TIMEOUT_MS));
        must(message->err());
        std::cout << "read " << std::string(static_cast<char *>(message->payload()), message->len()) << "\n";
    }
    must(consumer->commitSync());
    must(consumer->close());
}

static void transact(const std::string &servers, const std::string &topic, const std::string &kept,
                     const std::string &dropped) {
    Settings settings(servers);
    settings.set("transactional.id", topic + "-writer");
    auto made = producer(settings);
    must(made->init_transactions(TIMEOUT_MS));
    must(made->begin_transaction());
    send(*made, topic, kept);
    must(made->commit_transaction(TIMEOUT_MS));
    must(made->begin_transaction());
    send(*made, topic, dropped);
    must(made->flush(TIMEOUT_MS));
    must(made->abort_transaction(TIMEOUT_MS));
}

int main(int argc, char **argv) {
    const std::vector<std::string> given(argv + 1, argv + argc);
    const std::string &verb = given[0], &servers = given[1], &topic = given[2];
    if (verb == "produce") produce(servers, topic, {given.begin() + 3, given.end()});
    else if (verb == "consume") consume(servers, topic, given[3], std::stoi(given[4]));
    else if (verb == "transact") transact(servers, topic, given[3], given[4]);
    else throw std::invalid_argument(verb);
    return 0;
}
