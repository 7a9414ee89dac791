// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import Synchronization

struct SlowCalls: HTTPDNSObserver {
    func callEnded(_ call: HTTPDNSClient.CallRecord) {
        if call.duration > .seconds(1) { print(call) }
    }
}

final class BytesByHost: HTTPDNSObserver {
    private let sums = Mutex<[HTTPDNSHost: Int64]>([:])

    func callEnded(_ call: HTTPDNSClient.CallRecord) {
        for hop in call.hops {
            guard let host = hop.host else { continue }
            sums.withLock { $0[host, default: 0] += hop.responseBodyBytes ?? 0 }
        }
    }
}

enum CallEvents {
    static func observeAll(_ configuration: inout HTTPDNSClient.Configuration) {
        configuration.observers = [SlowCalls()]
    }

    static func record(_ client: HTTPDNSClient) async throws {
        let recording = client.recordCalls { record in
            if record.outcome == .failed { print(record) }
        }

        _ = try await client.get("https://img.shop.example/a.jpg").body.collect(upTo: .mebibytes(4))

        recording.stop()
        print("\(recording.counters.failed) of \(recording.counters.calls) calls failed")
    }

    static func watch(_ client: HTTPDNSClient) async {
        for await event in client.requestEvents {
            print(event)
        }
    }

    static func observe(_ client: HTTPDNSClient) async throws -> HTTPDNSClient.Response {
        var request = HTTPDNSClient.Request(url: "https://img.shop.example/a.jpg")
        request.observer = { event in
            if let progress = event.progress { print(progress) }
        }

        return try await client.execute(request)
    }
}
