// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// One kind of load, and the contenders that carry it.
struct Scenario {
    /// Clear text or TLS, and the HTTP version.
    enum Wire {
        case http1
        /// The server ends the connection after each response.
        case http1Closing
        case http1TLS
        /// The same over TLS.
        case http1TLSClosing
        case http2TLS
    }

    /// The source of a request's body.
    enum Sending {
        case bytes
        case file
        /// Chunks of 64 KiB.
        case stream
    }

    /// What becomes of a body.
    enum Reading {
        /// It is one array at the end.
        case collected
        /// Its bytes are counted as they come.
        case byChunks
        /// It is saved to a file.
        case saved
    }

    /// The content of a response.
    enum Resource: String {
        case small = "1k"
        /// A small one with a lifetime of an hour.
        case cacheable = "1k-cacheable"
        case large = "100m"
        /// A small one, after the whole request body was read.
        case answer = "upload"

        var bytes: Int {
            switch self {
            case .small, .cacheable, .answer: 1024
            case .large: 100 << 20
            }
        }
    }

    var name: String
    var title: String
    var wire: Wire
    var inFlight: Int
    /// The measured requests of each contender and round: about half a second for the fastest.
    var requests: Int
    var resource = Resource.small
    var reading = Reading.collected
    /// The time that the server takes for a response, in milliseconds. With 0 it is nginx, which responds at once.
    var delay = 0
    /// The length of each request's body; 0 sends GETs.
    var bodyBytes = 0
    /// The source of that body.
    var sending = Sending.bytes
    /// Whether the clocks begin with the process, which has no other request before.
    var measuresStart = false
    /// Whether nginx and the contenders have cores of their own, where there are two.
    var separatesCores = true
    /// The first is the one that the others are compared with.
    var contenders: [Contender]
    var targets: [Target] = []

    /// The same load by this project's contenders, each beside itself from another checkout; nil when it has none of them.
    var besideBefore: Scenario? {
        let own = contenders.filter { $0.executable == Contender.client.executable && $0.build == .ordinary }
        guard !own.isEmpty else { return nil }
        var scenario = self
        scenario.contenders = own.flatMap { [$0, $0.before] }
        scenario.targets = []
        return scenario
    }
}
