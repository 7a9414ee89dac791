// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSConfiguration

// Mappings, providers, live reload: the client follows the file.
let client = try await HTTPDNSClient(configuration: .file("httpdns.yaml"))
let url = "https://img.shop.test:8443/a.jpg"

do {
    let response = try await client.get(url) { $0.timeouts.total = .seconds(2) }
    print(response.status, response.destination)
    let picture = try await response.body.collect(upTo: .mebibytes(4))
    print("\(picture.count) bytes")

    // This request only. Host, SNI, certificate check and pool stay those of the name.
    let probe = try await client.get(url) {
        $0.addresses = .only(["127.0.0.3"])
        $0.timeouts.total = .seconds(2)
    }
    print(probe.status, probe.destination)

    // From now on, for everyone: atomic, and seen by the next request.
    let generation = try client.mappings.apply { $0["img.shop.test"] = .weighted(["127.0.0.2": 95, "127.0.0.3": 5]) }
    print("mappings generation \(generation)")
} catch let error as HTTPDNSClientError {
    print(error.code, error.message)
    for attempt in error.attempts { print("tried", attempt) }
    print("may have reached the server:", error.requestMayHaveBeenSent)
}
try await client.shutdown(drainingFor: .seconds(5))
