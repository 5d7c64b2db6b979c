.PHONY: help setup build release test simulate crash soak flat fuzz sanitize demo bench docs lint format clean

FILE ?=
ARGUMENTS ?=
SWIFT_FILES = Sources Tests Benchmarks Examples Schemas Package.swift

help: ## Show the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'

setup: ## Install the libraries that are missing
	@Scripts/install-dependencies

build: setup ## Build everything, debug
	swift build

release: setup ## Build everything, release
	swift build -c release

# The suites that wait for sockets and other tasks: by themselves, since those that compute for minutes would keep the
# few threads of the cooperative pool from them until their time-outs have passed. And few at a time, since all of them
# at once open more than a thousand files and keep each other from what is due within seconds.
WAITING = CarsTests|DocDBHubTests|DocDBReplicationTests|DocDBTransportTests|DocDBTests\.(Sync|Online|Auth|Observed)

test: setup ## Run all tests
	swift build --build-tests
	SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=12 \
		swift test --skip-build --disable-xctest --filter "$(WAITING)"
	swift test --skip-build --disable-xctest --skip "$(WAITING)"

# SEEDS runs every scenario with so many seeds; SEED and SCENARIO replay what a failure names.
SEEDS ?=
SEED ?=
SCENARIO ?=

simulate: setup ## Run the simulated scenarios; SEEDS=100, or SEED=7 SCENARIO="power loss"
	DOCDB_SIMULATION_SEEDS="$(SEEDS)" DOCDB_SIMULATION_SEED="$(SEED)" DOCDB_SIMULATION_SCENARIO="$(SCENARIO)" \
		swift test --disable-xctest --filter ScenarioTests

# The seed of a run that failed replays what was drawn by it; when the process dies is for the machine to say.
ROUNDS ?= 300

crash: setup ## Kill a writing process ROUNDS=n times and check its store each time; SEED=7
	Scripts/crash-loop $(ROUNDS) $(SEED)

MINUTES ?= 30

soak: setup ## Let a hub and 8 clients live through everything for MINUTES=n, and audit them; SEED=7
	Scripts/soak $(MINUTES) $(SEED)

# For opening and closing databases, and for connecting and disconnecting, within the process and over sockets.
FLAT_ROUNDS ?= 10000

flat: setup ## Open and connect FLAT_ROUNDS=n times: memory and open files must stay as they are
	swift run soak flat $(FLAT_ROUNDS)

# SECONDS for each target; TARGET chooses one, or some in quotes. Scripts/fuzz says more.
SECONDS ?= 60
TARGET ?=

fuzz: setup ## Fuzz each target for SECONDS=n under the address sanitizer; TARGET=session
	Scripts/fuzz $(SECONDS) $(TARGET)

# TESTS chooses suites; without it all run, those that wait by themselves as in `test`, and few at a time: each takes ten
# times as long.
TESTS ?=
THREAD = --scratch-path .build/thread --sanitize=thread -Xswiftc -DDOCDB_THREAD_SANITIZER
ADDRESS = --scratch-path .build/address --sanitize=address
SUPPRESSIONS = suppressions=$(CURDIR)/Tests/leak-suppressions.txt:print_suppressions=0
FEW = SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4

sanitize: export ASAN_OPTIONS = detect_leaks=1
sanitize: export LSAN_OPTIONS = $(SUPPRESSIONS)
sanitize: setup ## Run all tests under the thread and the address sanitizer; TESTS="Live" chooses some
	swift build --build-tests $(THREAD)
	$(FEW) swift test --skip-build --disable-xctest $(THREAD) --filter "$(or $(TESTS),$(WAITING))"
	$(if $(TESTS),,$(FEW) swift test --skip-build --disable-xctest $(THREAD) --skip "$(WAITING)")
	swift build --build-tests $(ADDRESS)
	$(FEW) swift test --skip-build --disable-xctest $(ADDRESS) --filter "$(or $(TESTS),$(WAITING))"
	$(if $(TESTS),,$(FEW) swift test --skip-build --disable-xctest $(ADDRESS) --skip "$(WAITING)")

demo: setup ## Import FILE=x.json, or generated cars, and look at the store; then run two users and a hub
	@Scripts/demo $(if $(FILE),"$(FILE)")

bench: setup ## Run the benchmarks beside plain SQLite; ARGUMENTS="--filter scan"
	swift run -c release benchmarks $(ARGUMENTS)

docs: setup ## Compile and run the examples of the documentation, and build it
	Scripts/check-examples
	Scripts/build-docs

lint: ## Check the format of the sources and the tidiness of the tree
	swift format lint --strict --recursive --parallel $(SWIFT_FILES)
	Scripts/check-tree

format: ## Format the sources in place
	swift format --in-place --recursive --parallel $(SWIFT_FILES)

clean: ## Remove everything that was built
	rm -rf .build
