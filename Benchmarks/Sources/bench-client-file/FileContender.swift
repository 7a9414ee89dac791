// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSConfiguration
internal import Workload

/// The same requests through this project's client, with the settings of a configuration file.
@main
struct FileContender {
    static func main() async throws {
        let orders = try Orders(arguments: CommandLine.arguments.dropFirst())
        let client = try await HTTPDNSClient(configuration: .file(orders.settingsFile))
        try await measure(orders) {
            let response = try await client.get(orders.url, headerFields: [.accept: "*/*", .userAgent: "bench"])
            let body = try await response.body.collect(upTo: .bytes(orders.bodyBytes))
            return Answer(status: response.status.code, bodyBytes: body.count, isHTTP2: response.version == .http2)
        }
        try await client.shutdown()
    }
}
