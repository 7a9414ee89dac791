// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives
public import Logging

extension HTTPDNSClient {
    /// Logs one line at info level for each call that begins from now on, when it ends.
    ///
    /// ```swift
    /// client.logCalls(to: Logger(label: "calls"))
    /// ```
    ///
    /// The message is `call ended`, and the facts are metadata. Keys that do not begin with `httpdns.` are attributes of
    /// OpenTelemetry's semantic conventions. The facts of a request are those of the last hop. A line has no header field and
    /// no body, and a URL in it has no user information, query and fragment.
    ///
    /// The logger is called in the task that ends the call, see ``HTTPDNSObserver/callEnded(_:)``. With a higher log level nothing is logged.
    /// - Returns: The handle that stops the log.
    @discardableResult
    public func logCalls(to logger: Logger) -> Observation {
        recordCalls { call in
            guard logger.logLevel <= .info else { return }
            logger.info("call ended", metadata: call.metadata)
        }
    }
}

extension HTTPDNSClient.CallRecord {
    /// The facts of the call by the names of the conventions.
    var metadata: Logger.Metadata {
        var facts: [String: String] = [
            "http.request.method": method.rawValue, "url.full": url, "httpdns.result": outcome.description,
            "httpdns.call.duration": "\(duration.inSeconds)",
        ]
        facts["http.response.status_code"] = status.map { "\($0.code)" }
        facts["error.type"] = error?.code.description
        facts["http.response.body.size"] = "\(responseBodyBytes)"
        if requestBodyBytes > 0 { facts["http.request.body.size"] = "\(requestBodyBytes)" }
        // Those that are left out are repetitions.
        let sent = hopsLeftOut + hops.count { !$0.isAnsweredInProcess && !$0.isMerged && !$0.isUnsent }
        if sent > 1 { facts["http.request.resend_count"] = "\(sent - 1)" }
        if let hop = hops.last {
            facts["server.address"] = hop.host?.description
            facts["server.port"] = hop.port.map { "\($0)" }
            facts["network.peer.address"] = hop.exchange?.endpoint?.address.description
            facts["network.peer.port"] = hop.exchange?.endpoint.map { "\($0.port)" }
            facts["network.protocol.version"] = (hop.exchange?.version).map {
                String($0.description.drop { $0 != "/" }.dropFirst())
            }
            facts["httpdns.source"] = hop.exchange?.source.description
            facts["httpdns.provider"] = hop.exchange?.provider
            facts["httpdns.route"] = hop.route
            facts["httpdns.cache"] = hop.cacheSource?.description
        }
        return facts.mapValues { .string($0) }
    }
}
