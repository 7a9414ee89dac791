// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import Logging

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
