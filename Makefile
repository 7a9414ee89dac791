# Everything that is done with this package. `make` alone says what there is.
.NOTPARALLEL:
.DEFAULT_GOAL := help
SHELL := /bin/bash

# The folders that the format is checked in, as far as they are there.
SWIFT_FOLDERS = $(wildcard Package.swift Sources Tests Simulation demo Examples Benchmarks Fuzz)
SHELL_SCRIPTS = $(shell grep -rlE '^#!.*bash' Scripts .ci) $(wildcard Scripts/servers/*.sh)

# One heading per step, in bold on a terminal, with the time since the first.
STARTED ?= $(shell date +%s)
export STARTED := $(STARTED)
step = @[ ! -t 1 ] || printf '\033[1m'; printf '== %s (after %d s)\n' '$(1)' $$(($$(date +%s) - $(STARTED))); [ ! -t 1 ] || printf '\033[0m'

.PHONY: help
help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-19s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: build-dependencies ## Build the library and resolve-test
	$(BUILD) --traits default,CommandLine,NIO

# Where `make install` puts the program: $(DESTDIR)$(PREFIX)/bin, and the manual page and completions below $(DESTDIR)$(PREFIX)/share.
PREFIX ?= /usr/local
DESTDIR ?=
INSTALL = PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' Scripts/install-program

.PHONY: install
install: build-dependencies ## Install the release program, its manual page and completions (PREFIX, DESTDIR)
	$(BUILD) -c release $(TRAITS) --product resolve-test
	@$(INSTALL) .build/release/resolve-test

.PHONY: uninstall
uninstall: ## Remove what make install has installed (PREFIX, DESTDIR)
	@$(INSTALL) --uninstall

.PHONY: demo
demo: ## See it work on real servers on this machine, with no internet (installs what is missing)
	@Scripts/demo

# Built once, with everything that a package trait adds. What a program with fewer traits gets is looked at in Examples (default
# traits) and by `make bare` (none).
TRAITS = --enable-all-traits

# SwiftPM writes the definitions of traits in the order of a Swift set, and that order changes with each process. So a plan that is
# made again, as for a new file, compiled everything again. The scripts that build set it too, for those who call them directly.
export SWIFT_DETERMINISTIC_HASHING = 1
BUILD = swift build

# Where the examples and the build without traits are built. CI says .build, where their dependencies are built already: the next
# build there compiles this package again, which costs only those who go on working in the same folder.
NESTED_BUILD ?= .build/nested
export NESTED_BUILD
BARE = $(BUILD) -c release --traits CommandLine --scratch-path $(NESTED_BUILD)

# The tests that mostly wait run beside all that comes after the other tests.
.PHONY: test
test: dependencies lint scripts ## Everything that CI runs: format, scripts, all tests against real servers, nested packages
	$(call step,build)
	$(BUILD) --build-tests $(TRAITS)
	$(call step,tests)
	@Scripts/run-tests -- make --no-print-directory test-rest
	$(call step,done)

.PHONY: test-rest
test-rest:
	$(call step,installing)
	@Scripts/check-install
	$(call step,reports in a browser)
	@Scripts/report-screenshots .build/report-screenshots
	@$(MAKE) --no-print-directory libcurl8
	$(call step,rules and their tests)
	@Scripts/check-conformance --self-test
	@Scripts/check-conformance
	$(call step,documentation comments and public symbols)
	@Scripts/check-api
	@$(MAKE) --no-print-directory nested operations simulate bare

.PHONY: test-fast
test-fast: build-dependencies ## The tests of the modules without servers and without real time, for the minute after a change
	$(BUILD) --build-tests $(TRAITS)
	@Scripts/run-tests fast

# The tests that are built already, with the libcurl that most systems have. One of the suites fails when another one is loaded. The
# suites are those that LibcurlQuirks.md names, and of the client's tests those that send, receive, save and resume bodies.
.PHONY: libcurl8
libcurl8: ## The built tests of what depends on the version of libcurl, with libcurl 8 from Debian's backports
	$(call step,libcurl 8)
	@Scripts/libcurl8
	@Scripts/libcurl8 run Scripts/run-tests libcurl paced bodies

.PHONY: lint
lint: ## Check the format, the words, the license headers, the measures of the code, the paths and links of the documentation, and the page of workarounds
	$(call step,format)
	swift format lint --strict --parallel --recursive $(SWIFT_FOLDERS)
	@! grep -rnE '^ *@Suite(\("[^"]*"\))?$$' Tests --include=*.swift || { echo '@Suite without a trait: CONTRIBUTING.md, Tests'; exit 1; }
	$(call step,words)
	@Scripts/check-words --self-test
	@Scripts/check-words
	$(call step,paths and links)
	@Scripts/check-docs-paths --self-test
	@Scripts/check-docs-paths
	$(call step,workarounds for libcurl)
	@Scripts/libcurl-quirks --self-test
	@Scripts/libcurl-quirks --check
	$(call step,measures of the code)
	@Scripts/code-metrics --check

.PHONY: format
format: ## Correct the format
	swift format --in-place --parallel --recursive $(SWIFT_FOLDERS)

.PHONY: scripts
scripts: ## Check the shell scripts' syntax, and that the planted faults fit the sources
	$(call step,scripts)
	@for script in $(SHELL_SCRIPTS); do bash -n $$script || exit 1; done
	@for patch in Simulation/Faults/*.patch; do git apply --check $$patch || { echo "$$patch does not fit the sources: CONTRIBUTING.md, Adding a feature"; exit 1; }; done

# A release build without other traits, which `make simulate` and `make bare` share.
.PHONY: operations
operations: build-dependencies ## Count the reference-count operations and allocations of a GET, and compare them with the table
	$(call step,operations of a request)
	@Scripts/count-operations

# What takes the place of traits that are off. The release build is that of `make operations` and `make simulate`.
.PHONY: bare
bare: build-dependencies ## Build resolve-test, the metrics and the adapters with no other package trait, and look at the program
	$(call step,no traits)
	[ $(NESTED_BUILD) = .build ] || $(BUILD) --build-tests $(TRAITS)
	$(BARE) --product resolve-test
	$(BARE) --target HTTPDNSMetrics
	$(BARE) --target HTTPDNSNIO
	$(BARE) --target HTTPDNSGRPC
	HTTPDNS_BARE=$(CURDIR)/$(NESTED_BUILD)/release swift test $(TRAITS) --skip-build --filter BareProgramTests

.PHONY: endurance
endurance: dependencies ## The tests in real time, for minutes in place of seconds, and those that measure it (a quiet machine)
	HTTPDNS_TEST_SERVERS=required HTTPDNS_TEST_ALONE=1 HTTPDNS_TEST_LONG=1 swift test $(TRAITS) --filter 'NeverWaitingTests|ProviderOutageTests|SwitchUnderLoadTests'
	HTTPDNS_TEST_SERVERS=required HTTPDNS_TEST_ALONE=1 HTTPDNS_TEST_LONG=1 swift test $(TRAITS) --skip-build --filter RotatingAnswerTests
	HTTPDNS_TEST_SERVERS=required HTTPDNS_TEST_ALONE=1 HTTPDNS_TEST_LONG=1 swift test $(TRAITS) --skip-build --filter QuietClientTests
	HTTPDNS_TEST_SERVERS=required HTTPDNS_TEST_LONG=1 swift test $(TRAITS) --skip-build --filter ReloadStormTests
	HTTPDNS_TEST_SERVERS=required HTTPDNS_TEST_LONG=1 swift test $(TRAITS) --skip-build --filter GoAwayTests
	HTTPDNS_TEST_SERVERS=required HTTPDNS_TEST_LONG=1 swift test $(TRAITS) --skip-build --filter SentBodyTests
	HTTPDNS_TEST_LONG=1 swift test $(TRAITS) --skip-build --filter 'RaceModelTests|SlowReaderTests|NilLimitTests'
	HTTPDNS_TEST_SERVERS=required HTTPDNS_TEST_ALONE=1 HTTPDNS_TEST_LONG=1 swift test $(TRAITS) --skip-build --filter '^HTTPDNSTests.TimesTests'
	HTTPDNS_TEST_ALONE=1 swift test $(TRAITS) --skip-build --filter '^HTTPDNSCurlTests.SelectionTests'

# Apart from the main build, whose products it would change. The lock is another one here: see Sources/HTTPDNSPrimitives/Lock.swift.
# One test at a time: beside each other, many times slower than else, they would end at their own time limits. Left out are a hundred thousand
# URLs, what measures time, memory or the stack, what needs few descriptors (the sanitizers need some themselves), and a response with its
# reset, which comes after the first piece of the body is sent then: libcurl 7.88 does not report it (LibcurlQuirks.md).
SANITIZED = ^(HTTPDNSCurl|HTTPDNS|HTTPDNSControl)Tests\.|LiveStressTests|RealFileTests|FollowedFileTests
UNSANITIZED = SharedLoopStateTests|EarlyResponseTests/resetAtOnce|CanonicalURLScanTests|DescriptorLimitTests|TransportDeadlineTests|DeadlineHonestyTests|DecodingTests|BlockingCallTests|StreamLimitTests|TimesTests
# Left out besides: programs that a test starts. The thread sanitizer hangs in the child now and then, between fork and exec.
UNTHREADED = $(UNSANITIZED)|EarlyResponse|ClientCertificateAlert|Probe|TLSSession|RefusedStream|StrayBytes|OverTLS|GoAway|InspectionTests

.PHONY: sanitize thread-sanitizer address-sanitizer
sanitize: thread-sanitizer address-sanitizer ## The loop, the client, reloads and the watcher under both sanitizers (half an hour)

thread-sanitizer: dependencies ## The same under the thread sanitizer alone
	$(call step,thread sanitizer)
	HTTPDNS_STRESS_SECONDS=60 swift test --sanitize thread -Xswiftc -DTSAN --scratch-path .build/sanitize --filter ResolverStressTests
	TSAN_OPTIONS=suppressions=$(CURDIR)/Scripts/thread-sanitizer.txt \
		swift test --skip-build --no-parallel --sanitize thread -Xswiftc -DTSAN --scratch-path .build/sanitize \
		--filter '$(SANITIZED)' --skip '$(UNTHREADED)'

address-sanitizer: dependencies ## The same under the address sanitizer alone
	$(call step,address sanitizer)
	ASAN_OPTIONS=detect_leaks=0 swift test --no-parallel --sanitize address --scratch-path .build/sanitize-address \
		--filter '$(SANITIZED)' --skip '$(UNSANITIZED)'

# The examples are documentation: one that does not compile is worse than none.
.PHONY: nested
nested: ## Build the examples, beside other packages that a server imports, and run their tests and the README's program
	$(call step,packages that a program fetches)
	@Scripts/check-consumer
	$(call step,examples)
	swift test --package-path Examples --scratch-path $(NESTED_BUILD)
	$(call step,the first program of README.md)
	@Scripts/check-first-program $(NESTED_BUILD)/debug/FirstProgram

# More options of the comparison: make bench BENCH='--json figures.json --check'
BENCH ?=

.PHONY: bench
bench: dependencies ## Measure all scenarios in one run, beside libcurl in C, AsyncHTTPClient and others (release build)
	@Benchmarks/run $(BENCH)
	@Benchmarks/run --scenario resolver --check

# make simulate SEED=9 TRACE=1 plays one world again; FIRST=225 WORLDS=224 plays others; FOR=600 goes on for ten minutes; FAULTS=1 plants faults; COVERAGE=1 measures the lines
# that 60 worlds (WORLDS) run. Without any of them it is the step of `make test`: two processes beside each other, each of which plays every second world.
SIMULATE = $(strip $(if $(SEED),--seed $(SEED)) $(if $(CALLS),--calls $(CALLS)) $(if $(FIRST),--first $(FIRST)) $(if $(WORLDS),--worlds $(WORLDS)) $(if $(FOR),--for $(FOR)) $(if $(TRACE),--trace))
SIMULATOR = $(NESTED_BUILD)/release/httpdns-simulate

.PHONY: simulate
simulate: build-dependencies ## Play worlds of hostile servers with the real client in virtual time (SEED, CALLS, FIRST, WORLDS, FOR seconds, TRACE=1, FAULTS=1, COVERAGE=1)
	$(call step,simulation)
ifdef FAULTS
	@Scripts/find-faults
else ifdef COVERAGE
	@Scripts/simulation-coverage $(WORLDS)
else
	$(BARE) --product httpdns-simulate
ifneq ($(SIMULATE),)
	$(SIMULATOR) $(SIMULATE)
else
	@$(SIMULATOR) --worlds 224 --part 1/2 >$(NESTED_BUILD)/simulation-1 2>&1 & first=$$!; \
	status=0; \
	$(SIMULATOR) --worlds 224 --part 2/2 >$(NESTED_BUILD)/simulation-2 2>&1 || status=1; \
	wait $$first || status=1; \
	grep -hvE '^  [a-z].*: [0-9]+$$' $(NESTED_BUILD)/simulation-[12]; \
	exit $$status
endif
endif

# SPOOF_SECONDS=600 forges answers for ten minutes.
SPOOF_SECONDS ?= 10

.PHONY: libunbound
libunbound: build ## Look 100,000 names and faults up by `kind: dns` and by libunbound, and compare
	Scripts/compare-libunbound

.PHONY: spoof
spoof: build ## Forge answers of a name server to an agent in a network of its own (SPOOF_SECONDS)
	Tests/Spoofing/try-spoofing.py --for $(SPOOF_SECONDS) .build/debug/resolve-test

.PHONY: fuzz
fuzz: build-dependencies ## Feed the parsers with broken input
	@if [ -x Fuzz/run ]; then Fuzz/run; else swift run --package-path Fuzz; fi

.PHONY: metrics
metrics: ## Measures of the code base
	@Scripts/code-metrics

.PHONY: clean
clean: ## Remove what was built
	rm -rf .build Examples/.build Benchmarks/.build Fuzz/.build

.PHONY: dependencies build-dependencies
dependencies: ## Install what the tests need (apt, with sudo if not root)
	@Scripts/install-dependencies --tests
build-dependencies: ## Install what the build needs
	@Scripts/install-dependencies --build
