# `make run` serves, `make test` tests; `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
WORKERS ?= 4
CI_WORKERS ?= 4
TESTS ?= tests
SERVE_ARGUMENTS ?= conf/server.properties

.DEFAULT_GOAL := help

# The tests start hundreds of Python processes. Without compiled files each of them compiles all that it imports: 0.4 s of
# processor time for a broker's modules instead of 0.15 s, and 8 s for a process of tests.
unexport PYTHONDONTWRITEBYTECODE

## run: install into .venv and serve on 127.0.0.1:9092 with the data under ./data
run: $(VENV)/.installed
	@$(BIN)/odradek serve $(SERVE_ARGUMENTS)

NOT_RULES := --ignore=tests/test_tidy.py --ignore=tests/tools # `make check` has them

## test: install what the tests need and run them (6 minutes on two cores; with Java 17 also each job on Spark once)
test: $(VENV)/.installed-dev
	$(PYTEST) -n $(WORKERS) -m "not java and not ci and not nightly and not long" $(NOT_RULES)

## test-without-java: the same while Java is hidden; CI runs it with every Python that is supported
test-without-java: $(VENV)/.installed-dev
	TESTS_HIDE_JAVA=1 $(PYTEST) -n $(WORKERS) -m "not java and not spark and not ci and not nightly and not long" $(NOT_RULES)

## test-java: ask Apache Kafka, its classes and Spark (10 minutes; Java 17 and Maven)
test-java: $(VENV)/.installed-dev
	$(PYTEST) -n $(WORKERS) -m "java and not ci and not nightly and not long" $(TESTS)

## test-ci: the tests that take longer; TESTS names the folders, all of them by default (Java and Maven)
test-ci: $(VENV)/.installed-dev
	$(PYTEST) -n $(CI_WORKERS) -m "ci and not nightly and not long" $(TESTS)

## test-all: test, test-java and test-ci in one run, which collects the tests once and has no idle worker between them (CI)
test-all: $(VENV)/.installed-dev
	$(PYTEST) -n $(CI_WORKERS) -m "not nightly and not long" $(NOT_RULES) $(TESTS)

## compiled: compile the loops of the jobs once, before several processes of tests do (20 s of processor time; CI)
compiled: $(VENV)/.installed-dev
	PYTHONPATH=tests:. $(BIN)/python -m tests.pipeline.compile_loops

## record: ask a real Kafka what the scenes of tests/parity ask, and write tests/answers (10 minutes; Java and Maven)
record: $(VENV)/.installed-dev
	PYTHONPATH=tests $(BIN)/python -m answers.record $(RECORD_ARGUMENTS)

## durations: run all tests of CI one after another on this idle machine and write tests/durations.json, which orders them
durations: $(VENV)/.installed-dev
	PYTHONPATH=tests $(PYTEST) -n $(WORKERS) -p support.durations -m "not nightly and not long" $(TESTS)

## test-nightly: minutes of other systems, of faults and of load in real time (an hour; Java, Maven, Go, Rust, Node)
test-nightly: $(VENV)/.installed-dev
	$(PYTEST) -n $(WORKERS) -m nightly

## test-long: the full numbers, all parts; docs/developers/test-long.md says what each shows, its last result and how a seed is replayed
test-long: $(VENV)/.installed-dev
	$(PYTEST) -m long

## test-long-protocol: of these: round trips and malformed bytes of every message and version
test-long-protocol: LONG = tests/protocol/codec/test_codec_round_trip.py tests/protocol/codec/test_codec_malformed.py

## test-long-reference: the fast codec against the declared reference
test-long-reference: LONG = tests/protocol/reference

## test-long-java: bytes equal to those of Apache Kafka's own classes
test-long-java: LONG = tests/protocol/test_java_parity.py

## test-long-storage: random operations and crashes on logs
test-long-storage: LONG = tests/storage

## test-long-crash: crashes at every write point of a log directory, tens of thousands
test-long-crash: LONG = tests/storage/log/test_crashes.py

## test-long-cleaning: random lives of compacted logs with rounds of the cleaner
test-long-cleaning: LONG = tests/storage/compaction

## test-long-compaction: thousands of partitions compacted by ours and by Kafka's cleaner, and 200 compactions killed
test-long-compaction: LONG = tests/pipeline/compact tests/faults/test_compact_killed.py

## test-long-appends: small and large appends interleaved with everything else that touches a log
test-long-appends: LONG = tests/broker/replicas/test_large_appends.py

## test-long-replication: lives of three replicas under elections, crashes and lost messages; a leader that answers anything
test-long-replication: LONG = tests/broker/replicas/test_isr.py tests/broker/replicas/replication

## test-long-cluster-simulator: whole brokers in simulated time, network and disks, a million steps
test-long-cluster-simulator: LONG = tests/cluster/test_simulated_cluster.py

## test-long-groups: the simulator of groups
test-long-groups: LONG = tests/broker/groups/test_simulator.py tests/broker/groups/classic tests/broker/groups/offsets

## test-long-consumer-groups: the simulator of consumer groups (KIP-848)
test-long-consumer-groups: LONG = tests/broker/groups/consumer

## test-long-share-groups: the simulators of the members and of the records of share groups (KIP-932)
test-long-share-groups: LONG = tests/broker/groups/share tests/broker/share_partitions

## test-long-streams-groups: the simulator of the members of streams groups (KIP-1071)
test-long-streams-groups: LONG = tests/broker/groups/streams

## test-long-lanes: a million requests to a broker with lanes and to one without, every byte compared
test-long-lanes: LONG = tests/broker/lanes

## test-long-transactions: the simulator of transactions
test-long-transactions: LONG = tests/broker/transactions

## test-long-client-assignors: our client's assignors and Kafka's own, 160,000 assignments
test-long-client-assignors: LONG = tests/client/group/test_assignors_against_kafka.py

## test-long-parity: random requests to ours and to a real Kafka
test-long-parity: LONG = tests/parity

## test-long-authorization: every API under random ACLs, at ours and at a real Kafka
test-long-authorization: LONG = tests/parity/test_authorization.py

## test-long-frames: hostile frames into a listening broker
test-long-frames: LONG = tests/faults/test_hostile_frames.py

## test-long-fire: ten minutes of writers, readers and transfers under kills, pauses and takeovers
test-long-fire: LONG = tests/faults/test_under_fire.py

## test-long-cluster-fire: three times ten minutes of faults in a cluster: ours, ours beside Apache Kafka's, and Kafka's alone
test-long-cluster-fire: LONG = tests/cluster/test_fire.py

## test-long-mutated: a million mutated records in the logs of the internal topics
test-long-mutated: LONG = tests/faults/test_mutated_records.py

## test-long-disk: ten minutes of writers at full rate on a file system of 64 MiB
test-long-disk: LONG = tests/faults/test_full_disk.py

## test-long-storage-scale: a partition of 20 GB, starts with 2,000 partitions
test-long-storage-scale: LONG = tests/scale/test_storage_scale.py

## test-long-group-scale: a group of 1,000 members, 5,000 groups, 10,000,000 committed offsets
test-long-group-scale: LONG = tests/scale/test_group_scale.py

## test-long-live-audit: 200 audits in a row of a real Kafka that writes 20 MB/s, deletes and compacts
test-long-live-audit: LONG = tests/faults/test_audit_of_live_kafka.py

## test-long-audit-damage: 10,000 random damages of a log: what changes what Kafka's classes read of it, the audit finds
test-long-audit-damage: LONG = tests/pipeline/audit/test_random_damage.py

## test-long-door: a directory three times from Kafka to Odradek and back, and the other way, stopped and killed
test-long-door: LONG = tests/door

## test-long-neighbours: what other clients wait beside heavy requests, every row of docs/developers/benchmarks.md
test-long-neighbours: LONG = tests/scale/test_neighbours.py

## test-long-loop: an hour's search of client scripts that hold the event loop for the longest time
test-long-loop: LONG = tests/scale/test_loop_search.py

## test-long-mixed: ten minutes of members, transactions and topics made and deleted beside hostile clients
test-long-mixed: LONG = tests/faults/test_mixed_load.py

## test-long-bombs: batches of few bytes that hold or claim gigabytes, in every codec, through every job
test-long-bombs: LONG = tests/pipeline/test_bombs.py

## test-long-wheel: the wheel in an empty environment of each Python from 3.11 to 3.14 that is here, with the programs of the pages
test-long-wheel: LONG = tests/testing/test_wheel.py

## test-long-testcontainers: the image started by Testcontainers' modules for Node, and by the tests of that for Rust (npm, cargo)
test-long-testcontainers: LONG = tests/docker/test_testcontainers.py

## test-long-platforms: the broker on emulated processors: arm64, and amd64 without any feature beyond the baseline
test-long-platforms: LONG = tests/docker/test_platforms.py

## test-long-rolling: Apache Kafka's brokers replaced by ours and back under load, three times in place, once by moves
test-long-rolling: LONG = tests/cluster/test_rolling.py

## test-long-examples: each project of examples/ ships 100 of 100 orders over five restarts of its broker, ten times in a row
test-long-examples: LONG = tests/examples

## test-long-systemd: the unit of conf under a real systemd, in a container with a Debian of its own (root, Debian)
test-long-systemd: LONG = tests/pages

LONG_PARTS := $(addprefix test-long-,protocol reference java storage crash storage-scale cleaning compaction appends groups consumer-groups share-groups transactions client-assignors parity frames mutated fire disk group-scale live-audit audit-damage door neighbours loop mixed bombs replication cluster-fire cluster-simulator rolling authorization wheel testcontainers platforms examples systemd)
$(LONG_PARTS): $(VENV)/.installed-dev
	$(PYTEST) -m long $(LONG)

## test-large: the pipeline over SCALE_BYTES of logs (by default half of the free disk, 50 GB at most), on one worker and two
test-large: $(VENV)/.installed-dev
	$(PYTEST) -s -m long tests/scale/test_pipeline_scale.py

## check: lint, format, types, import layers, the floor plan of each package, the house rules (purity, sizes, links)
check: lint types layers rules

# The parts of check. They are targets of their own so that `make -j2 check` runs two of them at once, as CI does.
lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

## types: mypy --strict over the package, the tests and the benchmarks (a part of check)
types: $(VENV)/.installed-dev
	$(BIN)/mypy --strict -p odradek
	MYPYPATH=tests:bench $(BIN)/mypy --strict tests bench

layers: $(VENV)/.installed-dev
	$(BIN)/lint-imports
	$(BIN)/python tests/tools/floor_plan.py

rules: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q tests/test_tidy.py tests/tools

## hooks: run ruff, the import checks and the check of the message before each commit (.pre-commit-config.yaml)
hooks: $(VENV)/.installed-dev
	$(BIN)/pre-commit install

## format: let ruff format and sort what it can
format: $(VENV)/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

## messages: generate protocol/messages/ anew from the table in protocol/apis/data/
messages: $(VENV)/.installed-dev
	$(BIN)/python -m odradek.protocol.generate

## bench: ours and real Kafka in turn with the same client; the table goes to docs/developers/benchmarks.json
bench: $(VENV)/.installed-dev
	PYTHONPATH=tests $(BIN)/python bench/run.py $(BENCH_ARGUMENTS)

## bench-requests: processor time of one small request; BENCH_ARGUMENTS="--base CHECKOUT" compares another revision (2 minutes)
bench-requests: $(VENV)/.installed-dev
	PYTHONPATH=tests $(BIN)/python bench/requests.py $(BENCH_ARGUMENTS)

## bench-cluster: three brokers of ours and three real ones in turn, each under a real controller (12 minutes); writes the table
bench-cluster: $(VENV)/.installed-dev
	PYTHONPATH=tests $(BIN)/python bench/run_cluster.py --document docs/developers/benchmarks.md $(BENCH_ARGUMENTS)

## bench-tls: TLS of ours and of a real Kafka in turn (8 minutes); writes the table
bench-tls: $(VENV)/.installed-dev
	PYTHONPATH=tests $(BIN)/python bench/tls.py --document docs/developers/benchmarks.md $(BENCH_ARGUMENTS)

## bench-metrics: what metrics cost: the dispatcher alone, and two brokers with and without them under load (5 minutes)
bench-metrics: $(VENV)/.installed-dev
	PYTHONPATH=tests $(BIN)/python bench/metrics.py $(BENCH_ARGUMENTS)

## bench-share: share groups of ours and of a real Kafka in turn (15 minutes); prints the table
bench-share: $(VENV)/.installed-dev
	PYTHONPATH=tests $(BIN)/python bench/share_groups.py $(BENCH_ARGUMENTS)

## bench-streams: a killed Kafka Streams instance, of ours and of a real Kafka in turn (10 minutes); prints the table
bench-streams: $(VENV)/.installed-dev
	PYTHONPATH=tests $(BIN)/python bench/streams_rebalance.py $(BENCH_ARGUMENTS)

## bench-pipeline: jobs over log directories and Kafka's tools in turn on the same bytes
bench-pipeline: $(VENV)/.installed-dev
	PYTHONPATH=tests $(BIN)/python bench/pipeline.py $(BENCH_ARGUMENTS)

## bench-pipeline-cost: an audit of 1 and 10 GB in 50 to 50,000 partitions, on each engine, and the model (an hour); prints the tables
bench-pipeline-cost: $(VENV)/.installed-dev
	PYTHONPATH=tests:. $(BIN)/python bench/pipeline_cost.py $(BENCH_ARGUMENTS)

## bench-alternatives: other brokers for tests and ours in turn (5 minutes; Java, Maven, Go; TANSU: its binary); prints the table
bench-alternatives: $(VENV)/.installed-dev
	PYTHONPATH=tests:bench $(BIN)/python -m alternatives.run $(BENCH_ARGUMENTS)

## protocol-ledger: record which clients use which API versions in LEDGER_TESTS, and print docs/protocol.md anew (45 minutes)
LEDGER_TESTS ?= tests/clients tests/parity tests/door tests/client tests/testing tests/broker/api
protocol-ledger: $(VENV)/.installed-dev
	PYTHONPATH=tests $(PYTEST) -m "not long" -p support.ledger.plugin $(LEDGER_TESTS)

## client-libraries: run client libraries and their suites at ours and at a real Kafka; writes docs/clients.md (an hour; Java, Maven, Go, Rust, Node)
client-libraries: $(VENV)/.installed-dev
	CI=true PYTHONPATH=tests $(BIN)/python -m systems.libraries.record $(LIBRARIES)

## config-keys: extract the facts of Kafka's configuration keys anew; KAFKA_LIBS is the folder with a release's jars
config-keys:
	java -cp "$(KAFKA_LIBS)/*" broker/config/extract/ExtractConfigKeys.java broker/config/data

## config-docs: generate the table of keys in docs/configuration.md anew
config-docs: $(VENV)/.installed-dev
	$(BIN)/python -m odradek.broker.config.document docs/configuration.md

## warm-up: generate the list of modules that a broker imports a second after its start
warm-up: $(VENV)/.installed-dev
	PYTHONPATH=tests $(BIN)/python -m tools.warm_up_list

## screenshots: take the pictures of the console and of the audit's page in README and docs anew, in a Chromium
screenshots: $(VENV)/.installed-dev
	TESTS_SCREENSHOTS=docs/images $(PYTEST) -q tests/console/page/test_screenshots.py
	TESTS_SCREENSHOTS=docs/images $(PYTEST) -q tests/pipeline/audit/test_audit_page_in_chromium.py -k light_and_dark

## site: build the documentation as a site in build/site; SITE_REPOSITORY is the address that links to source files get
site: $(VENV)/.installed-dev
	PYTHONPATH=tests $(BIN)/python -m tools.site.build build

## wheel: build the wheel into dist/, instead of an earlier one
wheel: $(VENV)/bin/python
	rm -f dist/odradek-*.whl
	$(BIN)/python -m pip wheel --disable-pip-version-check --no-deps --wheel-dir dist .

## release-check: build wheel and sdist into build/release, in an environment with what the build needs, and check them
release-check: $(VENV)/.installed-dev
	rm -rf build/release
	$(BIN)/python -m build --outdir build/release
	$(BIN)/python -m twine check --strict build/release/*
	PYTHONPATH=tests $(BIN)/python -m tools.release.contents build/release

## clean: remove what was built and cached, not the data
clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

help:
	@sed -n 's/^## \([a-z-]*\): \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 28

# The environment: created once, updated when the project's metadata changes.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Odradek needs Python 3.11 or newer; PYTHON=... names another one" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --disable-pip-version-check --editable '.[spark,test,docs,dev]'
	@touch $(VENV)/.installed $@

.PHONY: record bench bench-alternatives bench-cluster bench-metrics bench-pipeline bench-pipeline-cost bench-share bench-streams bench-tls durations run test test-without-java test-java test-ci test-all compiled test-nightly test-long $(LONG_PARTS) test-large check lint types layers rules hooks format messages protocol-ledger client-libraries config-keys config-docs screenshots site release-check wheel clean help
