// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// A ratio to reach.
struct Target {
    /// What is compared.
    enum Quantity: String {
        case processorTime = "CPU per request"
        case rate = "requests per second"
    }

    var contender: Contender
    var quantity: Quantity
    var reference: Contender
    var bounds: ClosedRange<Double>
    /// Whether `--check` insists on it. The others are aims, of later work.
    var isBinding: Bool

    init(
        _ contender: Contender,
        _ quantity: Quantity,
        atMost maximum: Double,
        of reference: Contender,
        isBinding: Bool = false
    ) {
        self.init(contender, quantity, 0...maximum, reference, isBinding)
    }

    init(
        _ contender: Contender,
        _ quantity: Quantity,
        atLeast minimum: Double,
        of reference: Contender,
        isBinding: Bool = false
    ) {
        self.init(contender, quantity, minimum...(.infinity), reference, isBinding)
    }

    private init(
        _ contender: Contender,
        _ quantity: Quantity,
        _ bounds: ClosedRange<Double>,
        _ reference: Contender,
        _ isBinding: Bool
    ) {
        self.contender = contender
        self.quantity = quantity
        self.bounds = bounds
        self.reference = reference
        self.isBinding = isBinding
    }

    /// `CPU per request at most 1.6 x libcurl in C`.
    var text: String {
        let bound = bounds.upperBound.isFinite ? "at most \(bounds.upperBound)" : "at least \(bounds.lowerBound)"
        return "\(quantity.rawValue) \(bound) x \(reference.name)"
    }
}
