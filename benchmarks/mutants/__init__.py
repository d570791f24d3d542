"""Planted faults: what share of small wrong changes to the core do its tests notice?"""
