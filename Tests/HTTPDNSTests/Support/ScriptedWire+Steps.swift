// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import HTTPTypes
import ServerRig

extension ScriptedWire {
    /// The answer to a request.
    enum Step: Sendable {
        case redirect(_ status: Int, to: String)
        case status(HTTPResponse.Status, _ fields: HTTPFields = [:])
        case failure(any Error)

        func answer(to request: TransferRequest) throws -> HopAnswer {
            switch self {
            case .redirect(let status, let place): .redirect(status, to: place, from: request)
            case .status(let status, let fields): .ok(from: request, status: status, fields: fields)
            case .failure(let error): throw error
            }
        }
    }

    /// A wire that takes one step for each request, and the last one for all later requests.
    convenience init(_ steps: [Step], then last: Step = .status(.ok)) {
        self.init { request, number in try (number < steps.count ? steps[number] : last).answer(to: request) }
    }

    convenience init(_ first: Step, _ more: Step..., then last: Step = .status(.ok)) {
        self.init([first] + more, then: last)
    }

    convenience init(then step: Step) { self.init([], then: step) }

    /// A wire that opens a gate with each request, and waits for another one.
    convenience init(opening arrived: Gate, holding gate: Gate) {
        self.init { request, _ in
            arrived.open()
            await gate.passage()
            return .ok(from: request)
        }
    }
}
