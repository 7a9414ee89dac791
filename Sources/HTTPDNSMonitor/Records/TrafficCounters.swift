// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNS

extension HTTPDNSTrafficMonitor {
    /// The sums of all calls that a monitor has seen.
    public struct Counters: Hashable, Sendable {
        /// The label of all hosts, or of all routes, beyond the limit
        /// ``HTTPDNSTrafficMonitor/Settings/maximumHosts``.
        public static let others = "_OTHER"

        /// The sums of all calls.
        public var calls = HTTPDNSClient.CallCounters()
        /// The number of calls that were chosen for a record.
        public var records = 0
        /// The sums of all hops.
        public var traffic = Traffic()
        /// The sums of the hops to each host, without its port; `-` for URLs of other schemes. The targets of redirects are
        /// counted under their own hosts.
        public var hosts: [String: Traffic] = [:]
        /// The sums of the hops by the route of their host, such as `*.shop.example`; `none` for hosts without a route.
        public var routes: [String: Traffic] = [:]

        /// Creates counters of no calls.
        public init() {}

        /// Adds a call.
        /// - Parameters:
        ///   - targets: The targets of its hops, one for each.
        ///   - maximum: The most hosts, and the most routes, with sums of their own.
        mutating func add(_ call: HTTPDNSClient.CallRecord, _ targets: [HopTarget], maximum: Int) {
            calls.add(call)
            for (index, target) in targets.enumerated() {
                // A response that the caller got, and that failed later, has failed with its body.
                let hasFailedBody = call.outcome == .failed && call.status != nil && index == call.hops.count - 1
                let hop = Traffic(call.hops[index], isFailed: call.hops[index].error != nil || hasFailedBody)
                traffic.add(hop)
                Self.add(hop, to: &hosts, of: target.host, maximum)
                Self.add(hop, to: &routes, of: target.route, maximum)
            }
        }

        private static func add(
            _ hop: Traffic,
            to sums: inout [String: Traffic],
            of label: String,
            _ maximum: Int
        ) {
            // Nearly all labels are there.
            if let index = sums.index(forKey: label) { return sums.values[index].add(hop) }
            let count = sums.count - (sums[others] == nil ? 0 : 1)
            sums[count < maximum ? label : others, default: Traffic()].add(hop)
        }
    }

    /// The sums of hops.
    public struct Traffic: Hashable, Sendable {
        /// The number of hops that were not answered in this process.
        public var requests = 0
        /// The hops that an interceptor, the response cache, a stub or a handler of a scheme answered in this process, and those
        /// that got the response to another call's identical request.
        public var answeredInProcess = 0
        /// The responses with a status from 400 to 499.
        public var clientErrors = 0
        /// The responses with a status from 500 to 599.
        public var serverErrors = 0
        /// The requests without a response, and those whose response body failed for the caller.
        public var failed = 0
        /// The requests that were canceled before their response head.
        public var canceled = 0
        /// The bytes of request heads, see `HTTPDNSClient.CallRecord.Hop.requestHeadBytes`.
        public var requestHeadBytes: Int64 = 0
        /// The bytes of request bodies, as sent.
        public var requestBodyBytes: Int64 = 0
        /// The bytes of response heads, see `HTTPDNSClient.CallRecord.Hop.responseHeadBytes`.
        public var responseHeadBytes: Int64 = 0
        /// The bytes of response bodies, as received.
        public var responseBodyBytes: Int64 = 0

        /// Creates sums of no hops.
        public init() {}

        /// The share of the requests with a 4xx or 5xx response, from 0 to 1; 0 without requests.
        public var httpErrorRate: Double { rate(clientErrors + serverErrors) }
        /// The share of the requests that failed, from 0 to 1; 0 without requests.
        public var failureRate: Double { rate(failed) }

        private func rate(_ count: Int) -> Double { requests == 0 ? 0 : Double(count) / Double(requests) }

        fileprivate init(_ hop: HTTPDNSClient.CallRecord.Hop, isFailed: Bool) {
            self.init(
                isAnsweredInProcess: hop.isAnsweredInProcess || hop.isMerged,
                status: hop.status?.code,
                isFailed: isFailed,
                bytes: Bytes(
                    requestHead: hop.requestHeadBytes,
                    requestBody: hop.requestBodyBytes,
                    responseHead: hop.responseHeadBytes,
                    responseBody: hop.responseBodyBytes
                )
            )
        }

        /// Creates the sums of a recorded hop.
        init(_ hop: Hop, isFailed: Bool) {
            self.init(
                isAnsweredInProcess: hop.isAnsweredInProcess || hop.isMerged,
                status: hop.status,
                isFailed: isFailed,
                bytes: hop.bytes
            )
        }

        private init(isAnsweredInProcess: Bool, status: Int?, isFailed: Bool, bytes: Bytes) {
            guard !isAnsweredInProcess else {
                answeredInProcess = 1
                return
            }
            requests = 1
            switch status {
            case .some(400...499): clientErrors = 1
            case .some(500...599): serverErrors = 1
            case nil where !isFailed: canceled = 1
            default: break
            }
            if isFailed { failed = 1 }
            requestHeadBytes = bytes.requestHead ?? 0
            requestBodyBytes = bytes.requestBody ?? 0
            responseHeadBytes = bytes.responseHead ?? 0
            responseBodyBytes = bytes.responseBody ?? 0
        }

        mutating func add(_ other: Traffic) {
            requests += other.requests
            answeredInProcess += other.answeredInProcess
            clientErrors += other.clientErrors
            serverErrors += other.serverErrors
            failed += other.failed
            canceled += other.canceled
            requestHeadBytes.addSaturated(other.requestHeadBytes)
            requestBodyBytes.addSaturated(other.requestBodyBytes)
            responseHeadBytes.addSaturated(other.responseHeadBytes)
            responseBodyBytes.addSaturated(other.responseBodyBytes)
        }
    }
}
