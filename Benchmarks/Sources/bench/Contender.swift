// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// A process that sends the requests and reports its figures.
struct Contender: Hashable {
    /// The build that its executable comes from.
    enum Build: Hashable {
        /// Beside the runner's executable.
        case ordinary
        /// The same program with the Swift runtime linked into it.
        case staticRuntime
        /// Built by `go build`.
        case go
        /// That of another checkout of this project.
        case before
    }

    /// The place of a response cache.
    enum Cache {
        case none
        case memory
        /// A folder that is removed after the run.
        case folder
    }

    /// The name in tables.
    var name: String
    var executable: String
    var build = Build.ordinary
    /// Its orders besides those of the scenario (Sources/Workload/Orders.swift).
    var orders: [String] = []
    /// The number of requests without a response that it has in flight besides.
    var silent = 0
    /// The number of requests with a late response that it has in flight besides, all the time.
    var slow = 0
    /// The time of those responses, in milliseconds.
    let slowDelay = 400
    /// Whether it gets the configuration file of the origin.
    var readsFile = false
    /// The place of its client's response cache, which answers all requests but the first.
    var cache = Cache.none
    /// The share of the scenario's requests that it sends: a slow one would make the run long.
    var share = 1.0
    /// Whether the URL must have the address: it has no option for the address of a name.
    var needsAddress = false

    /// The same contender from another checkout.
    var before: Contender {
        var contender = self
        contender.name += Contender.beforeSuffix
        contender.build = .before
        return contender
    }

    static let beforeSuffix = ", before"

    static let curl = Contender(name: "libcurl in C", executable: "bench-curl")
    static let client = Contender(name: "swift-httpdns", executable: "bench-client")
    static let clientStatic = Contender(
        name: "swift-httpdns, static runtime",
        executable: "bench-client",
        build: .staticRuntime
    )
    static let asyncHTTPClient = Contender(name: "AsyncHTTPClient", executable: "bench-asynchttpclient")
    static let asyncHTTPClientStatic = Contender(
        name: "AsyncHTTPClient, static",
        executable: "bench-asynchttpclient",
        build: .staticRuntime
    )
    static let go = Contender(name: "Go net/http", executable: "bench-go", build: .go)
    static let urlSession = Contender(
        name: "URLSession",
        executable: "bench-urlsession",
        share: 0.1,
        needsAddress: true
    )
    static let clientAmongNames = Contender(
        name: "after 5,000 x 4",
        executable: "bench-client",
        orders: ["--other-names", "5000"]
    )
    static let clientAmongMappings = Contender(
        name: "swift-httpdns, 10,000 mappings",
        executable: "bench-client",
        orders: ["--other-mappings", "10000"]
    )
    static let clientWithInterceptors = Contender(
        name: "swift-httpdns, 5 interceptors",
        executable: "bench-client",
        orders: ["--interceptors", "5"]
    )
    static let clientWithMonitor = Contender(
        name: "swift-httpdns, monitored",
        executable: "bench-client",
        orders: ["--monitored", "1"]
    )
    static let clientObserved = Contender(
        name: "swift-httpdns, metrics, traces",
        executable: "bench-client",
        orders: ["--observed", "1"]
    )
    static let clientWithFile = Contender(
        name: "swift-httpdns, settings file",
        executable: "bench-client-file",
        readsFile: true
    )
    static let clientWithMemory = Contender(
        name: "hit in memory",
        executable: "bench-client",
        cache: .memory,
        share: 20
    )
    static let clientWithFolder = Contender(
        name: "hit in a folder",
        executable: "bench-client",
        cache: .folder,
        share: 5
    )
    static let clientBesideSilent = Contender(name: "beside 2,000 silent", executable: "bench-client", silent: 2000)
    static let curlBesideSilent = Contender(name: "C beside 2,000 silent", executable: "bench-curl", silent: 2000)
    static let clientBesideSlow = Contender(name: "with 2,000 slow", executable: "bench-client", slow: 2000)
    static let curlBesideSlow = Contender(name: "C with 2,000 slow", executable: "bench-curl", slow: 2000)
    static let clientWithOneLoop = Contender(name: "one loop", executable: "bench-client", orders: ["--loops", "1"])
    static let clientWithTwoLoops = Contender(name: "two loops", executable: "bench-client", orders: ["--loops", "2"])
}
