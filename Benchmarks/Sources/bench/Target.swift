// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// A bound for a contender's figure, which is a multiple of another contender's.
struct Target {
    enum Quantity: String {
        case processorTime = "CPU per request"
        /// Not a multiple: the microseconds above those of the reference in the same round.
        case addedProcessorTime = "added CPU, us per request"
        /// Not a multiple: the median of all rounds, in microseconds.
        case ownProcessorTime = "CPU, us per request"
        case rate = "requests per second"
        case connections = "open connections"
        /// Not a multiple: the CPU time of the busiest loop thread over that of all of them.
        case busiestLoop = "busiest loop's share of the loops' CPU"
        case p50
        case p99
        case peakMemory = "peak resident memory"
    }

    enum Verdict: String {
        case met
        /// The goal is met, or there is none; the aim is not.
        case aimMissed = "aim missed"
        case missed = "MISSED"
    }

    var contender: Contender
    var quantity: Quantity
    var reference: Contender
    /// Whether the bounds are the least that the figure may be; otherwise they are the most.
    var isLeast: Bool
    /// The binding bound, which `--check` insists on.
    var goal: Double?
    /// The bound of later work.
    var aim: Double?

    init(
        _ contender: Contender,
        _ quantity: Quantity,
        atMost goal: Double?,
        aim: Double? = nil,
        of reference: Contender
    ) {
        self.init(contender: contender, quantity: quantity, reference: reference, isLeast: false, goal: goal, aim: aim)
    }

    init(
        _ contender: Contender,
        _ quantity: Quantity,
        atLeast goal: Double?,
        aim: Double? = nil,
        of reference: Contender
    ) {
        self.init(contender: contender, quantity: quantity, reference: reference, isLeast: true, goal: goal, aim: aim)
    }

    private init(
        contender: Contender,
        quantity: Quantity,
        reference: Contender,
        isLeast: Bool,
        goal: Double?,
        aim: Double?
    ) {
        self.contender = contender
        self.quantity = quantity
        self.reference = reference
        self.isLeast = isLeast
        self.goal = goal
        self.aim = aim
    }

    func verdict(_ figure: Double) -> Verdict {
        if let goal, !isWithin(goal, figure) { return .missed }
        if let aim, !isWithin(aim, figure) { return .aimMissed }
        return .met
    }

    /// `swift-httpdns: CPU per request, x libcurl in C`.
    var text: String {
        switch quantity {
        case .busiestLoop, .ownProcessorTime: "\(contender.name): \(quantity.rawValue)"
        case .addedProcessorTime: "\(contender.name): \(quantity.rawValue), to \(reference.name)"
        case .processorTime, .rate, .connections, .p50, .p99, .peakMemory:
            "\(contender.name): \(quantity.rawValue), x \(reference.name)"
        }
    }

    /// `<= 1.3`; `-` without a bound.
    func text(of bound: Double?) -> String { bound.map { "\(isLeast ? ">=" : "<=") \($0)" } ?? "-" }

    /// A figure that could not be measured is no figure within a bound.
    private func isWithin(_ bound: Double, _ figure: Double) -> Bool { isLeast ? figure >= bound : figure <= bound }
}
