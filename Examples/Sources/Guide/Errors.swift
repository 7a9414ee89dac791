// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS

/// What to do about failures.
enum Errors {
    static func charge(_ client: HTTPDNSClient) async throws {
        do {
            _ = try await client.post("https://pay.shop.example/v1/charge", body: .text(#"{"amount":100}"#))
        } catch let error as HTTPDNSClientError {
            print(error)  // one line, with what to do
            print(error.shortDescription)  // certificate-refused/tls: fit for a metric label
            // 203.0.113.7:443 tls: certificate is for other.test (12 ms)
            for attempt in error.attempts { print(attempt) }
            if let reason = error.underlying as? HTTPDNSResolver.Error { print(reason.code, reason.attempts) }
            guard !error.requestMayHaveBeenSent else { throw error }  // the money may have moved
        }
    }

    static func limits(_ configuration: inout HTTPDNSClient.Configuration) -> HTTPDNSClient.Request {
        configuration.timeouts.total = .seconds(30)

        let export = HTTPDNSClient.Request(url: "https://img.shop.example/export") {
            $0.timeouts.total = nil  // as long as bytes arrive
        }

        return export
    }
}
