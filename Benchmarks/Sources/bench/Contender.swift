// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// A process that sends the requests and reports its figures.
struct Contender: Hashable {
    /// As it stands in the table.
    var name: String
    /// Its executable, beside the runner's.
    var executable: String
    /// How many other names it touches on each address beforehand.
    var otherNames = 0
    /// How many requests without an answer it has under way besides.
    var silent = 0
    /// Whether its tasks run on the client's loop thread.
    var isOnLoop = false
    /// Which part of the scenario's requests it sends: a slow one would make the run long.
    var share = 1.0
    /// Whether the URL must have the address: it has no way to be told where a name is.
    var needsAddress = false

    static let curl = Contender(name: "libcurl in C", executable: "bench-curl")
    static let client = Contender(name: "swift-httpdns", executable: "bench-client")
    static let clientOnLoop = Contender(name: "client.executor", executable: "bench-client", isOnLoop: true)
    static let asyncHTTPClient = Contender(name: "AsyncHTTPClient", executable: "bench-asynchttpclient")
    static let urlSession = Contender(
        name: "URLSession",
        executable: "bench-urlsession",
        share: 0.1,
        needsAddress: true
    )
    static let clientAmongNames = Contender(name: "after 5,000 x 4", executable: "bench-client", otherNames: 5000)
    static let clientBesideSilent = Contender(name: "beside 2,000", executable: "bench-client", silent: 2000)
    static let curlBesideSilent = Contender(name: "C beside 2,000", executable: "bench-curl", silent: 2000)
}
