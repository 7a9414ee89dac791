// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// Needs the package trait ServiceLifecycle; `make traits` in the folder above compiles and runs it.
#if !HTTPDNS_REPOSITORY || ServiceLifecycle
import HTTPDNS
import HTTPDNSServiceLifecycle
import Logging
import ServiceLifecycle

/// Runs until SIGTERM or SIGINT. Services end in reverse order, so the worker may send until its end.
public func runService(_ worker: some Service, with client: HTTPDNSClient, logger: Logger) async throws {
    let life = HTTPDNSService(client: client, drainingFor: .seconds(10))
    let group = ServiceGroup(
        services: [life, worker],
        gracefulShutdownSignals: [.sigterm, .sigint],
        logger: logger
    )
    try await group.run()
}
#endif
